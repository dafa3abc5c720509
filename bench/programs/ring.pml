/* SPDX-License-Identifier: Apache-2.0
 * The ring of programs/ring.mimw for SPIN, for a comparison in the same run (algorithms.md 11.4): S, NC and N come as
 * -D options. A wait looks at the parity of the phase; a copy in flight is a process of its own, one a slot. */
byte pending_full[S], pending_empty[S], readers[S];
bit parity_full[S], parity_empty[S], bytes_full[S], in_flight[S];

inline arrive_full(s) {
  pending_full[s]--;
  if
  :: pending_full[s] == 0 && bytes_full[s] == 0 -> parity_full[s] = 1 - parity_full[s]; pending_full[s] = 1
  :: else
  fi
}

proctype Producer() {
  int i; byte s; bit q;
  do
  :: i < N ->
    atomic { parity_empty[s] == q };
    atomic { bytes_full[s] = 1; arrive_full(s) };
    atomic { assert(!in_flight[s] && readers[s] == 0); in_flight[s] = 1 };
    atomic { i++; s++; if :: s == S -> s = 0; q = 1 - q :: else fi }
  :: else -> break
  od
}

proctype Copies(byte s) {
end:
  do
  :: atomic {
      in_flight[s] -> in_flight[s] = 0; bytes_full[s] = 0;
      if
      :: pending_full[s] == 0 -> parity_full[s] = 1 - parity_full[s]; pending_full[s] = 1
      :: else
      fi
    }
  od
}

proctype Consumer() {
  int i; byte s; bit q;
  do
  :: i < N ->
    atomic { parity_full[s] != q };
    atomic { assert(!in_flight[s]); readers[s]++ };
    atomic { readers[s]-- };
    atomic {
      pending_empty[s]--;
      if
      :: pending_empty[s] == 0 -> parity_empty[s] = 1 - parity_empty[s]; pending_empty[s] = NC
      :: else
      fi
    };
    atomic { i++; s++; if :: s == S -> s = 0; q = 1 - q :: else fi }
  :: else -> break
  od
}

init {
  byte k;
  atomic {
    for (k : 0 .. S - 1) { pending_full[k] = 1; pending_empty[k] = NC; run Copies(k) }
    run Producer();
    for (k : 1 .. NC) { run Consumer() }
  }
}
