package config

import "net"

// CheckController reports what is wrong for a process that runs a controller, beyond
// what Parse has checked. The error is Problems.
func (c *Config) CheckController() error {
	k := checker{Config: c}
	k.loopbackUnlessInsecure("api.listen", c.API.Listen)
	k.loopbackUnlessInsecure("raft.listen", c.Raft.Listen)
	if c.Raft.Advertise == "" {
		k.peersName(c.AdvertiseRaft())
	}
	return k.problems.err()
}

// CheckAgent reports what is wrong for a process that runs an agent apart from its
// controllers, beyond what Parse has checked. The error is Problems.
func (c *Config) CheckAgent() error {
	k := checker{Config: c}
	if len(c.Agent.Controllers) == 0 {
		k.addf("agent.controllers", `is empty: name the controllers, such as ["ctl-1.example.org:6817"]`)
	}
	for _, address := range withoutSockets(c.Agent.Controllers) {
		if !c.Insecure && !isLoopback(address) {
			k.addf("agent.controllers", "%q would be reached without TLS, which this version does not have: set insecure = true on a network that you trust", address)
		}
	}
	return k.problems.err()
}

// loopbackUnlessInsecure refuses to serve a network in the clear unless told to.
func (k *checker) loopbackUnlessInsecure(key, address string) {
	if !k.Insecure && !isLoopback(address) {
		k.addf(key, "%q would serve the network without TLS, which this version does not have: "+
			"listen on 127.0.0.1, or set insecure = true on a network that you trust", address)
	}
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
