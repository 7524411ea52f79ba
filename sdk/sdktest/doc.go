// Package sdktest is for the tests of policies: it builds pictures of fake clusters, runs
// a schedule function on them natively and checks what it proposed.
//
//	cluster := sdktest.New().
//		Nodes(2, 8, 16_000).
//		Run(sdktest.Job{ID: 1, CPUs: 8, Limit: time.Hour}, 0).
//		Queue(sdktest.Job{ID: 2, CPUs: 4})
//	sdktest.Schedule(t, cluster, backfill.EASY).Starts(2, 1)
//
// A plan that the core would refuse fails the test by itself.
package sdktest
