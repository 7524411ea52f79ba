// A policy that always panics.
package main

import "github.com/rowelhq/rowel/sdk"

func main() {}

func init() {
	sdk.Policy(sdk.Info{Name: "trap", Version: "1.0.0"}, func(*sdk.Cycle) { panic("told to") })
}
