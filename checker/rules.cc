// SPDX-License-Identifier: Apache-2.0
//
// The table of rules. A rule that a finding cites and that is not here is a bug
// (tests/checker/rules_test.cc). Ids are those of the rulebooks: MB, W, N, NX, BK, BS, PX, WG, RG, M, GM of
// semantics.md, PE of ptx.md, ALG and EXT of algorithms.md, C and OB of orchestration_bugs.md.
#include "checker/rules.h"

#include <algorithm>
#include <cctype>

namespace turnstile {

namespace {

using enum FindingClass;
constexpr Severity kError = Severity::error, kLint = Severity::lint;

constexpr Rule kRules[] = {
    // Hangs.
    {"MB16", "a phase lacks arrivals", hang, kError,
     "An mbarrier phase completes when its pending count and its pending bytes are both zero. Fewer arrivals "
     "than the initial count leave it "
     "open for ever, and with it everybody who waits. Usual causes: a path that skips the arrival, a role "
     "that ends early, a count that "
     "includes arrivers that do not exist, an expect_tx that was taken for an arrival.",
     "Arrive on every path, once in each phase, or lower the initial count."},
    {"MB18", "bytes that never come", barrier_protocol, kError,
     "The bytes announced by expect_tx are more than the copies of that phase deliver. The phase stays open "
     "by the difference. A box counts "
     "in full even where it lies outside the tensor, partly or wholly (MB31, BS16; seen on an H200, probes "
     "P3 "
     "and P4); a predicated-off copy counts nothing (MB28).",
     "Expect exactly the sum of the bytes of the copies issued to the barrier in that phase."},
    {"MB19", "more bytes than expected", barrier_protocol, kError,
     "The copies of a phase deliver more bytes than were announced. The count of pending bytes passes zero "
     "early, when some data have not "
     "landed, or ends below zero, so that the phase never completes or takes the next phase's announcement "
     "for its own.",
     "Expect exactly the sum of the bytes of the copies issued to the barrier in that phase."},
    {"W2", "wrong parity on a fresh barrier", hang, kError,
     "A wait names the parity of a phase. A barrier that has completed no phase answers true for parity 1 "
     "(the phase before the first) and "
     "false for parity 0. The side that finds its buffers empty must start with parity 1, the side that "
     "waits for data with parity 0; "
     "otherwise both wait for each other at once.",
     "Start the producer's phase bit at 1."},
    {"W4", "a waiter that was lapped", hang, kError,
     "With parity a waiter may be at most one phase behind. If the barrier completes the phase that a warp "
     "is about to wait for, and then the "
     "next, before the warp polls, the parity bit says that nothing happened, and the warp waits for a "
     "completion that may never come.",
     "Do not let the barrier go round twice before each waiter has polled: count every waiter in what "
     "releases the next phase."},
    {"NX2", "a named barrier waits for threads that never come", hang, kError,
     "bar.sync releases nobody until the named number of threads has arrived. The number is the total of all "
     "threads that sync or arrive "
     "in one instance; if it is larger than what can ever come, or a warp skips the barrier, the others wait "
     "for ever. Warps that have exited count at a barrier without a number of threads, and at no other (N8, "
     "probe P8).",
     "Name 32 threads for each warp that meets there, and let each of them reach the barrier equally often."},
    {"N2", "a barrier in divergent code", hang, kError,
     "A barrier instruction waits for all threads of its own warp first. Lanes that went another way never "
     "come.",
     "Execute it with the whole warp, outside branches that split the warp."},
    {"RG4", "more registers wanted than the CTA has", resource, kError,
     "setmaxnreg.inc blocks until the pool of the CTA has enough registers. The pool is filled only by "
     "setmaxnreg.dec of other warps. If the "
     "sum of all requests exceeds the registers of the launch, the last request is never granted (RG8). A "
     "sum "
     "below it is fine (Q20; probe P11: 488 of 504 passes, 512 hangs).",
     "Choose counts whose sum over all warps is at most the entry count times the number of warps."},
    {"C2", "the cluster barrier waits for threads that never arrive", hang, kError,
     "barrier.cluster.wait blocks until all threads of all CTAs of the cluster that have not exited have "
     "arrived. It has no mask: a role that skips its arrival holds up everybody.",
     "Let every warp of every CTA of the cluster arrive equally often, or end."},
    {"F1", "a flag that never gets the value", hang, kError,
     "A strand spins until a word of memory has a value. Nobody who could write it is left, or all of them "
     "wait "
     "themselves.",
     "Raise the flag on every path; check the value that is waited for against the number of writers."},
    {"TC4", "columns of tensor memory that are never freed", resource, kError,
     "tcgen05.alloc blocks until enough columns are free. Columns held while more are wanted, by two CTAs on "
     "one SM or by two warps, are never given back.",
     "Allocate once, all that is needed; free before anybody waits for the columns."},
    // The certificate: what must hold so that one run stands for all schedules.
    {"ALG-D1", "a wait can pass two phases early, or missed its phase", overtaken, kError,
     "Parity is one bit of the phase number. A wait is safe only if the completion before the one it names "
     "lies in its past; otherwise, in a "
     "faster schedule of this warp, the barrier still shows the bit of two phases ago and the wait passes at "
     "once on old data. The same "
     "condition, of a wait that is blocked, says that a poll at another time would have passed.",
     "Wait for every phase in turn; flip the phase bit exactly once each time round the ring."},
    {"ALG-D2", "a waiter can be overtaken", overtaken, kError,
     "Nothing makes the next phase wait until this warp has polled. If it is slow, the barrier completes "
     "twice, its parity looks as if "
     "nothing had happened, and the warp sleeps for ever or takes later data. Hardware wakes nobody: it "
     "answers polls. Typical: one leader "
     "warp releases the buffer for its group before the sibling warps have seen it full.",
     "Count the warp in the barrier that lets the buffer be filled again, or synchronise the siblings before "
     "the leader arrives."},
    {"ALG-D3", "an arrival can be counted in another phase", barrier_protocol, kError,
     "Barriers do not know for which phase an arrival or a byte was meant; it counts in the phase that is "
     "open. If the completion of the "
     "previous phase is not in the past of the contribution, it can slip into that phase, which then "
     "completes too early, and its own phase "
     "lacks it. Also what a surplus arriver looks like: a count smaller than the number of arrivers.",
     "Wait for the previous phase before contributing to the next; make the count equal to the number of "
     "arrivals in one phase."},
    {"ALG-D5a", "a phase can complete before its bytes are expected", barrier_protocol, kError,
     "expect_tx after the arrival leaves a moment in which all arrivals are in and no bytes are pending: the "
     "phase completes before the copy "
     "has landed (MB24). If the bytes have landed first, the expect itself completes the phase (Q19, probe "
     "P15): "
     "which of the two happens is a matter of timing.",
     "Use mbarrier.arrive.expect_tx, or expect before the last arrival."},
    {"ALG-D5b", "more bytes land than were expected", barrier_protocol, kError,
     "All arrivals of the phase are in, and more bytes have landed than were announced: whether the phase "
     "completed in between depends on the "
     "order in which the copies land.",
     "Expect the bytes of every copy that is issued to the barrier in that phase."},
    {"EXT1", "a contribution can fall into another instance of a named barrier", barrier_protocol, kError,
     "A named barrier is ready for re-use the moment it completes. A warp that arrives without knowing that "
     "the instance before is complete "
     "can be counted in that instance.",
     "Let the warp sync on the barrier, or on one that follows it, before it arrives again."},
    // Barrier objects.
    {"MB1", "barrier count out of range", barrier_protocol, kError,
     "The count of mbarrier.init is 1 to 2^20-1; ptxas does not check it.",
     "Initialise with the number of arrivals of one phase."},
    {"MB9", "barrier initialised while in use", barrier_protocol, kError,
     "mbarrier.init on a live object, even an idle one, has no defined result.",
     "Initialise once, or mbarrier.inval first when all uses are over."},
    {"MB10", "barrier used without initialisation", barrier_protocol, kError,
     "Any operation but init on an object that is not initialised, or that was invalidated, is undefined.",
     "mbarrier.init in one thread, a CTA barrier, then use; inval only after the last use."},
    {"MB11", "initialisation of a barrier is not visible", race, kError,
     "Threads that use a barrier must come after its mbarrier.init through a CTA barrier. Without it a warp "
     "can arrive on, or wait for, an "
     "object that is not there yet, and the late init wipes what was counted. Other CTAs need a cluster "
     "barrier; a .relaxed one publishes nothing, so fence.mbarrier_init.release.cluster (or "
     "fence.acq_rel.cluster) comes before it. That fence is a release restricted to initialisations. Beside "
     "a "
     "barrier with .release and .acquire, which publishes them too, it is advice (policy init_fence=error).",
     "__syncthreads() between the init and the first use; for other CTAs the fence and a cluster barrier."},
    {"MB15", "more arrivals than the count", barrier_protocol, kError,
     "An arrival that would take the pending count below zero is undefined.",
     "Raise the count, elect one arriver, or wait for the phase before arriving again."},
    {"S1", "an arrival in a phase whose predecessor nobody waited for", barrier_protocol, kError,
     "For each phase at least one wait must have returned true before anybody arrives in the phase after it. "
     "PTX "
     "demands it and does not say what happens otherwise. Usual cause: the side that should wait does not, "
     "so "
     "that nothing holds up the other.",
     "Wait for each phase in turn; leave out arrivals that nobody waits for."},
    {"MB17", "too many pending bytes", barrier_protocol, kError,
     "A barrier can track less than 1 MiB of bytes in one phase.",
     "Split the copies over more barriers or phases."},
    {"W1", "a wait for a phase that is long over", barrier_protocol, kError,
     "A wait may ask for the open phase or the one just before it. An older state has no defined answer.",
     "Wait for each phase in turn."},
    {"W5", "parity operand is not 0 or 1", barrier_protocol, kError,
     "The parity of a wait is 0 or 1; anything else is undefined.", "Mask the phase bit."},
    {"NX1", "different thread counts on one named barrier", barrier_protocol, kError,
     "All warps that meet in one instance must name the same count; two counts at one id are an illegal "
     "instruction on an H200 (probe P8).",
     "Give each group of warps its own id and one count."},
    {"NX3", "more threads than the count of a named barrier", barrier_protocol, kError,
     "The surplus starts the next instance, which then never has what it needs.",
     "Make the count the total of one instance."},
    {"N1", "bad count of a named barrier", barrier_protocol, kError,
     "The count is a positive multiple of 32; 0 names the whole CTA. On an H200 33 is an illegal "
     "instruction, "
     "and counts wrap at 4096 (probe P8).",
     "Name whole warps."},
    {"N7", "a warp arrives twice in one instance", barrier_protocol, kError,
     "The second arrival takes the place of another warp's, which is then counted in the next instance.",
     "Wait for the instance before arriving again."},
    {"C4", "a named barrier that completes by arrivals only", barrier_protocol, kLint,
     "Nobody waits in that instance, so it orders nothing; often an arrive-only side has run ahead.",
     "Let one side bar.sync."},
    // Clusters.
    {"C1", "two arrivals at the cluster barrier in one generation", barrier_protocol, kError,
     "Each thread arrives once before the barrier completes; what a second arrival does is not defined.",
     "barrier.cluster.wait between two arrivals."},
    {"Q15", "an arrival at the cluster barrier without a wait for the one before", barrier_protocol, kLint,
     "The documents do not say what happens. If the generation before is not complete yet, the arrival is "
     "counted there.",
     "barrier.cluster.wait between two arrivals."},
    {"HB1", "accesses of two CTAs, ordered by a barrier of scope .cta only", race, kError,
     "mbarrier.arrive and mbarrier.try_wait have scope .cta unless they say otherwise, and that scope does "
     "not "
     "contain another CTA of the cluster: an arrival there, or a wait for one from there, orders nothing "
     "between "
     "the two (M3, M9). An H200 shows it. Stores before a default arrive: the peer that waited still read 4 "
     "% "
     "old words in its shared memory, and nearly all in global memory (probe P12). Loads before a default "
     "arrive: 20 % of the words were already those that the peer stored after its wait, 12 % with a bulk "
     "copy "
     "(probe P16). What is complete before the arrival is safe: wgmma, bulk copies and tcgen05 operations "
     "that "
     "were waited for, and loads before a fence.proxy.async, which waits for them. That is told as advice "
     "(Q2), "
     "unless policy remote_scope=strict takes PTX at its word there too.",
     "mbarrier.arrive.release.cluster and a wait with .acquire.cluster, both; or fence.acq_rel.cluster "
     "before "
     "the arrive and after the wait. For loads whose buffer another CTA refills: .release.cluster, or "
     "fence.proxy.async by the reading threads, before the arrive."},
    {"Q2", "an arrival of scope .cta at a barrier of another CTA", race, kLint,
     "By the letter it orders nothing between the CTAs (HB1). CUTLASS releases the stages of multicast "
     "copies "
     "that way, and for asynchronous operations that were waited for it works; so those are taken to be "
     "ordered. "
     "Generic loads and stores are not: there it is an error (HB1).",
     "mbarrier.arrive.release.cluster, and a wait with .acquire.cluster; or nothing, if only asynchronous "
     "operations depend on it."},
    {"MB8", "a wait on a barrier of another CTA", barrier_protocol, kError,
     "Only arrive, arrive_drop, expect_tx and complete_tx work on a remote mbarrier. A wait reads the local "
     "memory at that offset, or traps.",
     "Put the barrier into the CTA that waits."},
    {"D1", "a peer CTA used before it has started", lifetime, kError,
     "The CTAs of a cluster are launched together, but not at the same moment. Shared memory of a CTA that "
     "has "
     "not started belongs to somebody else.",
     "A cluster barrier before the first access to another CTA."},
    {"D2", "access to a CTA that may have ended", lifetime, kError,
     "Shared memory of a CTA is gone when its last thread has ended: an access by another CTA, or a copy "
     "that "
     "lands there, traps (cluster target block not present) or "
     "corrupts the CTA that came after it.",
     "A cluster barrier at the end, or let the CTA wait for the last access."},
    {"D3", "arrival at a CTA that may have ended", lifetime, kError,
     "The last release of a consumer goes to a producer that has nothing left to wait for, and may be gone.",
     "Let the producer wait for all its empty barriers before it ends (CUTLASS producer_tail), or a cluster "
     "barrier."},
    {"D5", "a copy in flight into a CTA that ends", lifetime, kError,
     "Its shared memory belongs to the next CTA when the bytes land.", "Wait for every copy before the end."},
    {"F2", "clusters that need to be resident together", hang, kLint,
     "A GPU starts clusters in any order and as many as it has room for. One that waits for a flag of "
     "another "
     "that has not started keeps its slot and waits for ever, unless the launch is cooperative.",
     "Launch cooperatively with at most as many clusters as fit, or let no cluster wait for a later one."},
    {"F4", "a loop that waits with a plain load", hang, kError,
     "The compiler may assume that no other thread changes what a plain load reads: it may load once and "
     "spin on "
     "the register for ever.",
     "Poll with ld.acquire, ld.relaxed, ld.volatile or an atomic."},
    {"PX5", "async accesses of two CTAs", race, kLint,
     "By the letter, the order of barriers does not reach the async proxy of another CTA. Multicast relies "
     "on "
     "it everywhere, and works.",
     "Nothing; or --strict, to see where a kernel relies on it."},
    // Flags and pools.
    {"GM3", "a flag used with too narrow a scope", race, kError,
     "A release and an acquire order two threads only if the scope of each contains the other. With .cta, or "
     ".cluster across clusters, the flag is "
     "seen and the data behind it need not be.",
     "Use .gpu for flags between CTAs of a grid."},
    // Asynchronous copies and launches: what the simulator stops at.
    {"CA1", "a copy of more than its size", memory, kError,
     "cp.async names the bytes that it copies and, optionally, how many of them come from the source; more "
     "than it copies has no meaning.",
     "Keep the source size between 0 and the size of the copy."},
    {"BF2", "a copy to the own shared memory", memory, kError,
     "A bulk copy from shared memory to shared::cluster goes to another CTA of the cluster.",
     "Map the destination to another rank, or copy with ordinary loads and stores."},
    {"BK7", "a reduction that does not exist", memory, kError,
     "A bulk reduction combines elements of the type of the tensor map; not every operation exists for every "
     "type. Sums of floats are rounded in the order in which the copies land, which is not specified.",
     "Use a map whose element type has the operation."},
    {"BS4", "no place for a tensor map", memory, kError,
     "A tensor map is an object of 128 bytes, aligned to 64, in a parameter or in global or constant memory.",
     "Give the map 128 aligned bytes of its own."},
    {"BS6", "a tensor map with a misaligned base", memory, kError,
     "The global address of a tensor map is a multiple of 16 bytes.",
     "Align the base of each matrix to 16 bytes."},
    {"BS7", "a tensor map without extent", memory, kError,
     "Each dimension of a tensor map has 1 to 2^32 elements. A map that the kernel makes of zeros has none "
     "until "
     "each field was replaced.",
     "Replace every field of a map that starts as zeros; skip the copy of an empty group."},
    {"BS8", "a tensor map with bad strides", memory, kError,
     "Strides are multiples of 16 bytes, below 2^40, and rows do not overlap.", "Pad the rows to 16 bytes."},
    {"BS9", "a tensor map with a bad box", memory, kError,
     "A box has 1 to 256 elements in each dimension, and its inner row is a multiple of 16 bytes.",
     "Choose another tile."},
    {"BS10", "a box wider than its swizzle", memory, kError,
     "The inner row of a swizzled box is at most as wide as the swizzle.",
     "Narrow the box, or widen the swizzle."},
    {"BS11", "a tensor map with bad element strides", memory, kError, "Element strides are 1 to 8.",
     "Replace the element strides of a map that starts as zeros by 1."},
    {"BS12", "an interleaved tensor map with another swizzle", memory, kError,
     "Interleave of 32 bytes goes with a swizzle of 32 bytes.", "Set both, or neither."},
    {"DX1", "an asynchronous store that does not fit its cluster", memory, kError,
     "st.async, red.async and bulk copies between CTAs write another CTA's shared memory and complete on a "
     "barrier of the same CTA.",
     "Map data and barrier to the same rank of a cluster of at least two CTAs."},
    {"DX3", "a CTA that is not in the cluster", memory, kError,
     "Addresses and masks of a cluster name its CTAs only; what another rank does is not documented.",
     "Check the rank against %cluster_nctarank, and the cluster size of the launch."},
    {"CL3", "a cluster launch request while a CTA has ended", lifetime, kError,
     "clusterlaunchcontrol.try_cancel with multicast::cluster::all answers in every CTA of the cluster; all "
     "of them "
     "must still run.",
     "Keep all CTAs in the loop until the answer says that it is over."},
    {"CL4", "a request after a refusal", barrier_protocol, kError,
     "Once a CTA has seen a try_cancel fail, another one has no defined meaning.",
     "Leave the loop at the first answer that is no cluster."},
    {"CL9", "the first CTA of a refusal", memory, kError,
     "An answer that says 'failed' carries no coordinates.", "Ask is_canceled first."},
    {"TC1", "lanes of another warp", memory, kError,
     "Warp i of a warp group loads and stores lanes 32 i to 32 i + 31 of tensor memory only.",
     "Add 32 times the warp number modulo 4 to the lane of the address (bits 16 and up)."},
    {"TC3", "columns that are not allocated", memory, kError,
     "Tensor memory has 128 lanes and 512 columns, of which a CTA touches what it has allocated.",
     "Allocate first, and keep column arithmetic inside the allocation."},
    {"TC12", "a part of a warp at a tensor memory access", memory, kError,
     "tcgen05.ld, st and wait are executed by a full warp with one address.",
     "Keep the warp together around them."},
    {"TC13", "an operation of the tensor cores from many threads", memory, kError,
     "tcgen05.mma, cp and shift are issued by one thread. Thirty-two threads issue thirty-two operations.",
     "Let one elected thread issue it."},
    {"TC28", "a matrix shape that does not exist", memory, kError,
     "M is 64 or 128, for a pair of CTAs 128 or 256; N is at most 256 in steps of 8, for a pair of 16.",
     "Check the instruction descriptor: M >> 4 at bit 24, N >> 3 at bit 17."},
    {"TC29", "a malformed shared-memory descriptor", memory, kError,
     "Bits 46 to 48 of a descriptor are 001, its swizzle mode is 0, 1, 2, 4 or 6, its addresses are shifted "
     "by 4 "
     "and lie in shared memory.",
     "Build the descriptor as PTX ISA 9.7.16.4.1 says."},
    {"TC6", "tensor memory or a pool that is not given back", resource, kError,
     "Every tcgen05.alloc is freed before the kernel ends, with the columns it was given. What leaks is "
     "missing "
     "to the next CTA on the SM, which waits for ever.",
     "Free on every path, also on early returns."},
    {"TC5", "allocations that increase", resource, kError,
     "The column counts of successive allocations of one CTA should not increase; what happens else is not "
     "documented.",
     "Allocate the largest first."},
    {"TC7", "allocation after the permit was given up", resource, kError,
     "After tcgen05.relinquish_alloc_permit by any thread the CTA may not allocate any more.",
     "Order the relinquish after the last allocation."},
    {"TC8", "two cta_groups in one kernel", resource, kError,
     "All tcgen05 instructions of a kernel name the same cta_group.", "Choose one."},
    {"TC9", "a paired tcgen05 operation before the peer is there", lifetime, kError,
     "Operations of cta_group::2 are executed by both CTAs of a pair; the peer has to be launched and to "
     "take "
     "part.",
     "A cluster barrier before the first of them."},
    {"TC10", "tensor memory freed before the peer has allocated", lifetime, kError,
     "A dealloc of one CTA while the allocation of its peer is under way fails the launch.",
     "A cluster barrier between allocation and dealloc."},
    {"TC11", "two warps allocate tensor memory", resource, kLint,
     "CUTLASS asks for one warp that does all allocations, the same in both CTAs of a pair. The instruction "
     "set does not.",
     "Let one warp allocate."},
    // Tensor memory.
    {"TC16", "tcgen05 operations of one thread that only the hardware orders", race, kLint,
     "PTX orders the pipelined pairs of one thread: mma after mma on the same accumulator, mma after cp or "
     "shift. Others, mma on another accumulator or cp after mma, need a "
     "completion between them by the letter. Hardware executes them in order, and kernels rely on it.",
     "tcgen05.commit and a wait between the two, or nothing."},
    {"TC17", "tcgen05.st without tcgen05.wait::st", race, kError,
     "A store to tensor memory is asynchronous. An arrival after it says only that it was issued.",
     "tcgen05.wait::st before the arrival."},
    {"TC18", "tcgen05.ld without tcgen05.wait::ld", race, kError,
     "A load from tensor memory is asynchronous: its columns may be read after the arrival that releases "
     "them.",
     "tcgen05.wait::ld before the arrival."},
    {"TC19", "the result of tcgen05.mma used before it is complete", race, kError,
     "Only a tcgen05.commit of the issuing thread, whose barrier is waited for, tells that an mma is done.",
     "tcgen05.commit, a wait on its barrier, tcgen05.fence::after_thread_sync, then the use."},
    {"TC20", "tcgen05 operations of two threads in no order", race, kError,
     "Two threads issue operations on the same tensor memory; nothing says which is first.",
     "Issue from one thread, or tcgen05.fence::before_thread_sync, a barrier, ::after_thread_sync."},
    {"TC22", "operands overwritten while tcgen05.mma reads them", race, kError,
     "The operands in shared memory are read until the commit that covers the mma has arrived, whatever "
     "collector says.",
     "Release the stage with tcgen05.commit, not with an arrival of the issuing thread."},
    {"TC23", "tcgen05.fence missing beside a barrier", proxy_fence, kLint,
     "tcgen05 operations before a barrier are ordered with those after it by fence::before_thread_sync and "
     "::after_thread_sync. Shipped code leaves them out beside acquiring mbarrier waits; policy "
     "tensor_fence=error takes PTX at its word.",
     "The fence on both sides of the barrier; a commit has the first built in."},
    {"TC24", "tcgen05.commit with a shared address where a generic one belongs", memory, kError,
     "Without .shared::cluster the operand of tcgen05.commit is a generic address; one outside the window of "
     "shared memory is undefined. Triton 3.6 passes the shared address itself, and the kernels run: the "
     "hardware takes the low bits. Checked on as the shared address (policy commit_address=lint).",
     "tcgen05.commit...shared::cluster, or cvta.shared before."},
    {"TC25", "tcgen05.commit by another thread", race, kError,
     "A commit tracks what its own thread has issued. From another thread it arrives at once, and the mma is "
     "still running.",
     "Commit from the thread that issues the mma."},
    // Copies through the generic proxy.
    {"CA5", "two cp.async of one group write the same bytes", race, kError,
     "Copies inside a group complete in any order.", "Let each byte have one writer in a group."},
    {"CA6", "data of a cp.async used before it is complete", race, kError,
     "The destination may not be read, nor the source written, before the copy is waited for.",
     "cp.async.wait_group that covers the copy."},
    {"CA7", "data of another thread's cp.async", race, kError,
     "cp.async.wait_group waits for, and makes visible, the copies of the executing thread only.",
     "A barrier after the wait."},
    {"AM10", "LDS reads that have not returned", race, kError,
     "An LDS load is complete when lgkmcnt (or dscnt) says so; an s_barrier does not wait for it. Each wave "
     "counts its own, by class.",
     "s_waitcnt lgkmcnt(0) before the barrier that hands the bytes on."},
    // Descriptors, dependent launches.
    {"TMAP2", "a tensor map changed without tensormap fences", proxy_fence, kError,
     "Copies read their map through a proxy of its own, which sees neither generic stores nor their "
     "barriers.",
     "fence.proxy.tensormap::generic.release after the change, .acquire before the use."},
    {"TMAP4", "a tensor map changed while a copy uses it", race, kError,
     "The map is read until the copy is complete (a store: until wait_group.read).",
     "Wait for the copies before the map changes."},
    {"PD5", "global memory used before griddepcontrol.wait", race, kLint,
     "Only griddepcontrol.wait orders a kernel after the one before it in the stream; the trigger publishes "
     "nothing. What is read or overwritten earlier may still be in use there.",
     "griddepcontrol.wait in every role that touches memory of the kernel before."},
    {"MB20", "too many pending arrivals", barrier_protocol, kError,
     "cp.async.mbarrier.arrive without .noinc raises the pending count, which has a maximum of 2^20-1.",
     "Use .noinc and count the arrivals in the init."},
    {"MB21", "the last arriver drops out", barrier_protocol, kError,
     "arrive_drop lowers the count of later phases; it may not become zero.", "Let the last one arrive."},
    {"MB22", "arrive.noComplete that completes a phase", barrier_protocol, kError,
     "A .noComplete form may not be the last arrival of a phase.",
     "Use the plain form for the last arrival."},
    // Data.
    {"M5", "strong accesses of different sizes race", race, kError,
     "Two strong accesses do not race if they touch exactly the same bytes. Where they overlap in part, none "
     "of "
     "the guarantees of the memory model holds, not even that a value which is read was ever written.",
     "Access the bytes in one size everywhere, or order the two with a barrier."},
    {"M4", "race", race, kError,
     "Two accesses to the same bytes, at least one a write, that no chain of barriers orders. Either may "
     "come first; a copy in flight may "
     "write at any time between its issue and the completion that somebody waits for, and its completion "
     "publishes its own bytes only.",
     "Order them: wait for the completion, or arrive after the access on a barrier that the other side waits "
     "for."},
    {"WG4", "operands overwritten while wgmma reads them", race, kError,
     "wgmma reads its shared-memory operands asynchronously until wgmma.wait_group covers its group. A stage "
     "that is released earlier can be "
     "refilled under the running instruction.",
     "Wait for the group that read the stage, then arrive on its empty barrier."},
    {"BK2", "a group wait by the wrong thread", race, kError,
     "Bulk groups belong to the thread that issued the copies. cp.async.bulk.wait_group of another thread "
     "waits for nothing.",
     "Let the issuing thread wait, then synchronise."},
    {"BK3", "a buffer used while a TMA store is in flight", race, kError,
     "wait_group.read releases the source of a store, the plain form its destination as well. Before that "
     "the store may still read the one "
     "and write the other.",
     "The issuing thread waits for the group, then a barrier, then the buffer may be used."},
    {"GM1", "CTAs race in global memory", race, kError,
     "Nothing orders the CTAs of a launch but atomics and fences of gpu scope. Two CTAs touch the same bytes "
     "and one writes.",
     "Separate the ranges, or use atomics, or a second kernel."},
    {"PX1", "shared memory written by stores, read by the async proxy without a fence", proxy_fence, kError,
     "TMA stores and wgmma read shared memory through the async proxy, which does not see generic stores by "
     "barriers alone. Without "
     "fence.proxy.async stale bytes are read, rarely, and no sanitizer reports it.",
     "fence.proxy.async by the writing threads after their writes and before the barrier, or by the issuing "
     "thread after it."},
    {"PX7", "global memory written by stores, read by TMA without a fence", proxy_fence, kError,
     "As PX1, for global memory.", "fence.proxy.async.global, or without a suffix."},
    {"PX2", "shared memory read by loads, overwritten by the async proxy without a fence", proxy_fence,
     kError,
     "A generic read before an asynchronous write needs a proxy fence as well. On an H200 loads whose values "
     "are "
     "not used before the arrive were overtaken by the refill and returned the new bytes: 1 % of the words "
     "where "
     "the loads queue on one bank, one in 10^9 to 10^10 with ordinary loads (probe P9). The compiler does "
     "not "
     "wait for the loads before the arrive. None were wrong with the fence in the readers, with the fence in "
     "the "
     "producer after its wait, with fence.acq_rel.cta in its place, or where every value was used before the "
     "arrive. By the text fence.acq_rel.cta does not do: it orders the generic proxy only (M10), so it stays "
     "an "
     "error. Whether values were used is not followed: policy read_fence=lint for kernels that use them.",
     "fence.proxy.async by the reading threads before they release the buffer, or by the issuing thread "
     "between "
     "its wait and the copy (PX8)."},
    {"OB1.1", "data of the wrong generation", stale, kError,
     "A wait can pass although the data are not the ones meant: the phase it names is over, and the buffer "
     "was released already. Everything "
     "is ordered and everything is wrong. Usual causes: the phase or the stage starts anew with each tile, "
     "or flips at the wrong stage.",
     "Carry stage and phase on across tiles."},
    // Registers and lifetime.
    {"WG1", "wgmma without wgmma.fence", register_hazard, kError,
     "Registers that were touched must be fenced before a wgmma uses them.",
     "wgmma.fence before the first wgmma of a sequence."},
    {"WG2", "wgmma operands differ between warps, or are malformed", memory, kError,
     "The descriptors of a wgmma are the same in all four warps.",
     "Compute descriptors from uniform values."},
    {"WG6", "wgmma in divergent code", memory, kError,
     "All .sync.aligned wgmma instructions are executed by all lanes of all four warps of a warp group.",
     "Keep the control flow of a warp group uniform around wgmma."},
    {"WG3", "accumulator used before its wgmma is done", register_hazard, kError,
     "Accumulators and A registers of a wgmma belong to it until wgmma.wait_group covers its group.",
     "Wait for the group before the registers are read or written."},
    {"BK6", "asynchronous work outlives its thread", lifetime, kError,
     "A store in flight reads shared memory that is given to another CTA when this one ends; a load in "
     "flight writes there. No document says that the exit waits for them. For stores an H200 does wait: the "
     "next CTA starts a microsecond later, and 103,809,024 words of 103,809,024 were right (probe P14), so a "
     "store is advice (policy exit_in_flight=error asks for more); a load stays an error.",
     "Wait for all groups and all copies before the thread that issued them ends."},
    {"RG1", "setmaxnreg that the warps of a group do not execute together", resource, kError,
     "PTX: all four warps of a warp group execute the same setmaxnreg, and meet before the next. Other "
     "counts, or "
     "warps that never come, are errors. A missing meeting is advice (policy register_meeting=error takes "
     "PTX at its "
     "word): an H200 serves each warp for itself (probe P17), and kernels of Triton leave it out.",
     "One setmaxnreg for all four warps, and a barrier of the group between two."},
    {"RG2", "setmaxnreg in the wrong direction", resource, kError,
     "inc to fewer registers than owned, or dec to more, is undefined.",
     "Match the counts with those of the launch."},
    // Operands.
    {"memory", "access out of bounds or misaligned", memory, kError,
     "The address lies outside its allocation, or is not a multiple of the access size.",
     "Check the index arithmetic at this line."},
    {"BS1", "illegal bulk copy", memory, kError,
     "Sizes are multiples of 16 bytes, both addresses 16-byte aligned, in bounds.",
     "Align the buffers; round the size."},
    {"BS2", "misaligned shared address of a TMA copy", memory, kError,
     "The shared address of a tensor copy is 128-byte aligned; swizzled tiles repeat at 256, 512 or 1024 "
     "bytes.",
     "Align the stage buffers."},
    {"BS3", "misaligned mbarrier", memory, kError, "An mbarrier is 8-byte aligned in shared memory.",
     "Align it."},
    {"BS5", "rank of a tensor copy does not fit its map", memory, kError,
     "A tensor map has one to five dimensions, and a copy names one coordinate for each.",
     "Use the instruction of the map's rank."},
    {"BS14", "TMA store with a negative coordinate", memory, kError,
     "A store starts inside the tensor; only loads may start outside.", "Clip the tile, or skip the store."},
    {"BS15", "a tile that starts at no multiple of 16 bytes", memory, kError,
     "The innermost coordinate of a tensor copy, times the size of an element, is a multiple of 16 bytes. No "
     "document says so for plain types; an H200 answers anything else with an illegal instruction, loads and "
     "stores alike (probe P5).",
     "Align the tile, or split it."},
    {"M15", "warp synchronisation by a lane that is not in the mask", memory, kError,
     "A lane that executes a .sync instruction must be in its mask.",
     "Pass the mask of the lanes that execute it."},
    {"PE10", "not a tensor map", memory, kError,
     "A tensor copy names an address that is no tensor map of the launch.",
     "Pass the map as a __grid_constant__ parameter."},
    {"PE14", "trap", memory, kError, "The kernel executed trap.", "See the check that leads there."},
};

bool same_id(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view id) {
  const auto at =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return same_id(r.id, id); });
  return at == std::end(kRules) ? nullptr : at;
}

std::string explain_rule_text(const Rule& rule) {
  std::string text(rule.id);
  text.append(": ").append(rule.title).append("\n");
  text.append("class ").append(finding_class_name(rule.finding_class));
  text.append(rule.severity == Severity::lint ? ", advice" : "").append("\n\n");
  text.append(rule.why).append("\n\nhelp: ").append(rule.cure);
  return text;
}

std::string rules_markdown() {
  std::string text =
      "<!-- Made from checker/rules.cc by rules_markdown(); do not edit. -->\n"
      "# Rules\n\n"
      "What a finding means, why the hardware behaves so, and what to change. Advice is shown but never "
      "fatal unless asked for.\n\n"
      "| rule | class | title |\n|---|---|---|\n";
  const auto anchor = [](std::string_view id) {
    std::string a;
    for (const char c : id)
      if (const auto u = static_cast<unsigned char>(c); std::isalnum(u) != 0 || c == '-')
        a += static_cast<char>(std::tolower(u));
    return a;
  };
  for (const Rule& r : kRules) {
    text.append("| [")
        .append(r.id)
        .append("](#")
        .append(anchor(r.id))
        .append(") | ")
        .append(finding_class_name(r.finding_class));
    text.append(r.severity == Severity::lint ? " (advice)" : "").append(" | ").append(r.title).append(" |\n");
  }
  for (const Rule& r : kRules) {
    text.append("\n## ").append(r.id).append("\n\n**").append(r.title).append("** (").append(
        finding_class_name(r.finding_class));
    text.append(r.severity == Severity::lint ? ", advice" : "")
        .append(")\n\n")
        .append(r.why)
        .append("\n\n*Cure.* ")
        .append(r.cure)
        .append("\n");
  }
  return text;
}

}  // namespace turnstile
