// Package scheduler decides which pending jobs start on which nodes: it draws a picture
// of the newest state, lets a policy propose, checks every proposal against its own
// account and proposes the plan that is left to the replicated state, which checks it
// once more.
//
// The policy orders, fits and scores; what is static about "may this job run on this
// node" is decided here and handed over as node sets. A job that no node could hold is
// told so here and is never shown to a policy. A policy that fails or lies loses that
// cycle's whole plan: the fallback answers the same picture in the same cycle.
//
// The loop is level-triggered. It keeps no intentions: whatever a lost leadership or a
// timeout left undone is seen in the next view. It runs on the leader only.
//
// The package knows nothing of Raft, of the network, or of the wall clock: the window
// (state.View), the door (Proposer), the policies and the clock are given to it.
// core/controller runs it; a simulator may call Cycle with a clock of its own.
package scheduler
