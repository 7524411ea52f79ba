package config_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rowelhq/rowel/core/config"
)

func parse(t *testing.T, src string) *config.Config {
	t.Helper()
	c, err := config.Parse("role.hcl", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wants fails unless err holds every one of the words; no words mean no error.
func wants(t *testing.T, err error, words ...string) {
	t.Helper()
	if len(words) == 0 && err != nil {
		t.Errorf("got %v, want no error", err)
	}
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want %q in it", err, word)
		}
	}
}

func TestControllerOffLoopbackNeedsInsecure(t *testing.T) {
	c := parse(t, `raft { listen = "10.1.2.3:6821" }`)
	wants(t, c.CheckController(), "role.hcl: api.listen", "role.hcl:1:17: raft.listen", "insecure = true", "127.0.0.1")
	c.Insecure = true
	wants(t, c.CheckController())
}

func TestControllerOnLoopbackNeedsNothing(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "127.9.9.9"} {
		c := config.Default()
		c.API.Listen, c.Raft.Listen = host+":6817", host+":6821"
		wants(t, c.CheckController())
	}
}

func TestControllerMustBeAmongItsPeersAlsoByDefaultAddress(t *testing.T) {
	c := parse(t, `
api { listen = "127.0.0.1:6817" }
raft {
  listen = "127.0.0.1:1"
  peers  = ["127.0.0.1:2", "127.0.0.1:3"]
}`)
	wants(t, c.CheckController(), `role.hcl:5:12: raft.peers`, `"127.0.0.1:1"`, "raft.advertise")
	c.Raft.Advertise = "127.0.0.1:3"
	wants(t, c.CheckController())
}

func TestAgentNeedsAController(t *testing.T) {
	c := config.Default()
	wants(t, c.CheckAgent(), "agent.controllers: is empty")
	c.Agent.Controllers = []string{"127.0.0.1:6817"}
	wants(t, c.CheckAgent())
}

func TestAgentOffLoopbackNeedsInsecure(t *testing.T) {
	c := config.Default()
	c.Agent.Controllers = []string{"ctl-1:6817"}
	wants(t, c.CheckAgent(), `"ctl-1:6817"`, "insecure = true")
	c.Insecure = true
	wants(t, c.CheckAgent())
}

func TestCheckSeesWhatAFlagChanged(t *testing.T) {
	c := config.Default()
	c.API.Listen = "nonsense"
	wants(t, c.Check(), `api.listen: "nonsense" is not an address`)
}

func TestAdvertiseFollowsListen(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for listen, want := range map[string]string{
		":7":           net.JoinHostPort(host, "7"),
		"0.0.0.0:7":    net.JoinHostPort(host, "7"),
		"[::]:7":       net.JoinHostPort(host, "7"),
		"127.0.0.1:7":  "127.0.0.1:7",
		"[fd00::1]:7":  "[fd00::1]:7",
		"ctl-1.site:7": "ctl-1.site:7",
	} {
		c := config.Default()
		c.API.Listen, c.Raft.Listen = listen, listen
		if c.AdvertiseAPI() != want || c.AdvertiseRaft() != want {
			t.Errorf("%s: advertises %s and %s, want %s", listen, c.AdvertiseAPI(), c.AdvertiseRaft(), want)
		}
	}
	c := config.Default()
	c.API.Advertise, c.Raft.Advertise = "a:1", "b:2"
	if c.AdvertiseAPI() != "a:1" || c.AdvertiseRaft() != "b:2" {
		t.Errorf("advertises %s and %s, want what is set", c.AdvertiseAPI(), c.AdvertiseRaft())
	}
}

func TestExpectIsOneOfEachPeer(t *testing.T) {
	for _, c := range []struct {
		raft config.Raft
		want int
	}{
		{config.Raft{}, 1},
		{config.Raft{Peers: []string{"a:1", "b:1", "c:1"}}, 3},
		{config.Raft{Peers: []string{"a:1", "b:1", "c:1"}, BootstrapExpect: 2}, 2},
	} {
		if got := c.raft.Expect(); got != c.want {
			t.Errorf("%+v expects %d, want %d", c.raft, got, c.want)
		}
	}
}

func TestSpoolFollowsTheDataDirectory(t *testing.T) {
	c := config.Default()
	c.DataDir = "/srv/rowel"
	if got := c.Spool(); got != "/srv/rowel/spool" {
		t.Errorf("spool is %s", got)
	}
	c.Agent.SpoolDir = "/fast/spool"
	if got := c.Spool(); got != "/fast/spool" {
		t.Errorf("spool is %s", got)
	}
}

func TestAgentMayUseTheSocketOfItsOwnMachine(t *testing.T) {
	c := parse(t, `agent { controllers = ["unix:/var/lib/rowel/rowel.sock"] }`)
	if err := c.CheckAgent(); err != nil {
		t.Errorf("a socket needs no TLS, but: %v", err)
	}
}
