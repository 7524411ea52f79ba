// Backfill is the policy that Rowel ships and falls back to: jobs start in the order of
// their priority, each on the nodes that it leaves least unused, and later jobs fill the
// gaps as long as the first that waits is not delayed (EASY backfill).
package main

import (
	"github.com/rowelhq/rowel/sdk"
	"github.com/rowelhq/rowel/sdk/backfill"
)

func init() {
	sdk.Policy(sdk.Info{
		Name:        "backfill",
		Version:     "0.1.0",
		Description: "Priority order, best fit, EASY backfill.",
	}, backfill.EASY)
}

func main() {}
