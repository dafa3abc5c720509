# SPDX-License-Identifier: Apache-2.0
"""Where the rules of mutation.py apply, and what they change: on a text in the style of Triton, written here."""

import unittest

import mutation

TEXT = """\
	.loc	1 7 5                          // ring.py:7:5
	// begin inline asm
	@%p1 mbarrier.init.shared::cta.b64 [%r1], 2;

	// end inline asm
	.loc	1 9 5                          // ring.py:9:5
	// begin inline asm
{
	.reg .pred complete;
	.loc	1 11 5                         // ring.py:11:5
	waitLoop:
	mbarrier.try_wait.parity.shared::cta.b64 complete, [%r2], %r3;
	@!complete bra.uni waitLoop;
}

	// end inline asm
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 8192;
	.loc	2 3 1, function_name $L__info, inlined_at 1 12 9 // ring.py:12:9
	fence.proxy.async.shared::cta; // fence.proxy.async in a comment
	@%p1 mbarrier.arrive.shared::cta.b64 _, [%r4];
	@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
	wgmma.wait_group.sync.aligned 0;
"""


class Mutation(unittest.TestCase):
    def planted(self, rule, which=0):
        site = [site for site in mutation.sites(TEXT) if site.rule == rule][which]
        before, after = TEXT.split("\n"), mutation.planted(TEXT, site).split("\n")
        return site, [line for line in before if line not in after], [line for line in after if line not in before]

    def test_every_rule_and_the_line_of_the_source(self):
        self.assertEqual([(site.rule, site.line, site.source) for site in mutation.sites(TEXT)],
                         [("count", 3, "ring.py:7"), ("wait", 12, "ring.py:9"), ("parity", 12, "ring.py:9"), ("bytes", 17, "ring.py:9"),
                          ("fence", 19, "ring.py:12"), ("arrival", 20, "ring.py:12"), ("arrival", 21, "ring.py:12"), ("wait", 22, "ring.py:12")])  # fmt: skip

    def test_a_wait_goes_with_its_branch(self):
        _, gone, new = self.planted("wait")
        self.assertEqual([line.strip() for line in gone],
                         ["mbarrier.try_wait.parity.shared::cta.b64 complete, [%r2], %r3;", "@!complete bra.uni waitLoop;"])  # fmt: skip
        self.assertEqual(new, [])

    def test_the_other_parity_is_made_outside_of_the_loop(self):
        _, gone, new = self.planted("parity")
        self.assertEqual([line.strip() for line in gone], ["mbarrier.try_wait.parity.shared::cta.b64 complete, [%r2], %r3;"])
        self.assertEqual([line.strip() for line in new], [".reg .b32 turned;", "xor.b32 turned, %r3, 1;",
                                                          "mbarrier.try_wait.parity.shared::cta.b64 complete, [%r2], turned;"])  # fmt: skip

    def test_numbers(self):
        self.assertEqual(self.planted("bytes")[2], ["\t@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 4096;"])
        self.assertEqual(self.planted("count")[2], ["\t@%p1 mbarrier.init.shared::cta.b64 [%r1], 3;"])

    def test_statements_that_go(self):
        for rule, which, what in (("fence", 0, "fence.proxy.async.shared::cta"), ("arrival", 0, "mbarrier.arrive.shared::cta.b64"),
                                  ("wait", 1, "wgmma.wait_group.sync.aligned")):  # fmt: skip
            site, gone, new = self.planted(rule, which)
            self.assertEqual((site.what, len(gone), new), (what, 1, []))

    def test_the_choice_is_the_same_every_time_and_spread_over_lines(self):
        chosen = mutation.chosen(TEXT, "ring", 1)
        self.assertEqual(chosen, mutation.chosen(TEXT, "ring", 1))
        self.assertEqual([site.rule for site in chosen], ["wait", "parity", "bytes", "fence", "arrival", "count"])
        self.assertEqual({site.source for site in mutation.chosen(TEXT, "ring", 2) if site.rule == "wait"}, {"ring.py:9", "ring.py:12"})


if __name__ == "__main__":
    unittest.main()
