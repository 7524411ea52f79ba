// Package consensus runs one member of the Raft cluster that keeps Rowel's state: a
// hashicorp/raft instance on a log store of our own, the identity of its disk, the
// one-time formation of a cluster, and the news that this member is dead.
//
// It replicates opaque commands to a Machine and knows nothing of jobs, plugins or the
// API. core/controller opens a Member, hands its Propose and Barrier to the parts that
// need them, and watches Died.
//
// Three rules hold it together; DESIGN.md says why.
//
//   - Nothing is acknowledged before a majority has it on disk, and one failed write or
//     fsync ends the member: what a disk kept after an error cannot be known.
//   - A store that belongs to no cluster takes part in nothing. Raft does not even run
//     until the store carries a cluster ID, and every connection names the cluster, the
//     sender and the intended target before it may carry Raft traffic.
//   - A member that cannot replicate says so within a second and stops holding the
//     others up: its connections are cut before anything else happens.
package consensus
