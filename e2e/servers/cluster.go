package servers

import (
	"strconv"
	"testing"
)

const clusterSlots = 16384 // fixed by the Redis Cluster specification

// Cluster is a Redis Cluster of three masters without replicas.
type Cluster struct {
	Masters []*Server // the slots are spread over them evenly, in this order
}

// RedisCluster starts a cluster and returns when all of it answers for all slots. Options are added to the command
// line of each node.
func RedisCluster(t testing.TB, options ...string) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 3 {
		c.Masters = append(c.Masters, clusterNode(t, options))
	}
	for i, node := range c.Masters {
		first, next := i*clusterSlots/len(c.Masters), (i+1)*clusterSlots/len(c.Masters)
		mustAsk(t, node.Addr(), "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(next-1))
		mustAsk(t, node.Addr(), "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)) // spares them agreeing on an order
	}
	for _, node := range c.Masters[1:] {
		mustAsk(t, c.Masters[0].Addr(), "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(node.port), busPort(node.port))
	}
	c.AwaitOK(t)
	return c
}

// Addrs returns the addresses of all masters.
func (c *Cluster) Addrs() []string { return addrs(c.Masters) }

// AwaitOK returns when every node sees three masters and all slots served, for instance after a Restart.
func (c *Cluster) AwaitOK(t testing.TB) {
	t.Helper()
	for _, node := range c.Masters {
		await(t, "cluster", func() error {
			return expect(node.Addr(), []string{"CLUSTER", "INFO"}, "cluster_state:ok", "cluster_size:3",
				"cluster_known_nodes:3",
				"cluster_slots_ok:"+strconv.Itoa(clusterSlots))
		})
	}
}

func clusterNode(t testing.TB, options []string) *Server {
	t.Helper()
	requireInstalled(t, "redis-server", "redis-cli")
	node := program{
		binary: "redis-server",
		args: func(port int) []string {
			return append([]string{
				"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
				"--cluster-enabled", "yes", "--cluster-port", busPort(port), "--cluster-node-timeout", "2000",
			}, options...)
		},
		pid: redisPID,
	}
	return start(t, node, freePort)
}

// busPort is the port on which the node talks to the others. By default it is port+10000, which would lie in the
// range that freePort avoids.
func busPort(port int) string { return strconv.Itoa(port + 1) }

func addrs(servers []*Server) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}
