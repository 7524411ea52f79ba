// Package backfill is the scheduling that a policy reuses: the queue's order, best fit,
// jobs over several nodes all at once or not at all, and EASY backfill (Lifka, "The
// ANL/IBM SP scheduling system", 1995; Mu'alem and Feitelson, 2001).
//
// It is plain Go over a sdk.Cycle, runs the same in a guest and under go test, and is
// written for guests: nodes stand in one array sorted by what they have free, a search
// ends at the first node that fits, and a request that cannot be met spares the search
// to every request that asks for as much or more.
package backfill
