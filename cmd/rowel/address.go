package main

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rowelhq/rowel/core"
	"github.com/rowelhq/rowel/core/api"
)

// defaultAddress is the local controller's socket in the default data directory.
const defaultAddress = "unix:/var/lib/rowel/rowel.sock"

func addressFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "address",
		Usage: "`LIST` controllers by commas, host:port or unix:/path, tried in turn; default: ROWEL_ADDR, then the local socket",
	}
}

func patienceFlag() cli.Flag {
	return &cli.DurationFlag{
		Name:  "patience",
		Value: api.DefaultPatience,
		Usage: "`TIME` how long to go on looking for a controller that can answer",
	}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead, in the form that docs/cli.md fixes"}
}

func staleFlag() cli.Flag {
	return &cli.BoolFlag{Name: "stale", Usage: "take what the controller that answers has, even if it is behind or has no leader"}
}

// clientFlags are the flags of a command that talks to a controller, before its own.
func clientFlags(own ...cli.Flag) []cli.Flag {
	return append(own, addressFlag(), patienceFlag())
}

// newClient returns a client for the controllers that the command line, else ROWEL_ADDR,
// else the local socket names. Close it after use.
func newClient(c *cli.Context) (*api.Client, error) {
	patience := c.Duration("patience")
	if patience <= 0 {
		return nil, usageErrorf("--patience must be longer than zero, such as 15s")
	}
	if c.IsSet("address") {
		client, err := api.NewClient(splitList(c.String("address")), patience)
		if core.KindOf(err) == core.Invalid {
			return nil, usageErrorf("--address: %w", err)
		}
		return client, err
	}
	addresses := splitList(os.Getenv("ROWEL_ADDR"))
	if len(addresses) == 0 {
		addresses = []string{defaultAddress}
	}
	client, err := api.NewClient(addresses, patience)
	if core.KindOf(err) == core.Invalid {
		return nil, usageErrorf("ROWEL_ADDR: %w", err)
	}
	return client, err
}

// splitList splits at commas and drops what is empty.
func splitList(text string) []string {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
