// Package test holds the tests that need real processes: a built rowel, real disks,
// real kill -9. They use nothing of the product but its binary and its API client.
package test
