// A policy that never answers.
package main

import "github.com/rowelhq/rowel/sdk"

func main() {}

func init() {
	sdk.Policy(sdk.Info{Name: "loop", Version: "1.0.0"}, func(c *sdk.Cycle) {
		for n := 0; ; n++ {
			spin = n
		}
	})
}

var spin int
