package servers

import (
	"slices"
	"strconv"
	"testing"
)

const clusterSlots = 16384 // fixed by the Redis Cluster specification

// Cluster is a Redis Cluster of three masters.
type Cluster struct {
	Masters  []*Server // the slots are spread over them evenly, in this order
	Replicas []*Server // one of each master, in the same order; none unless started by ReplicatedCluster
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

// ReplicatedCluster starts a cluster in which each master has a replica, and returns when all replicas are in step: one
// takes over some two seconds after its master was killed.
func ReplicatedCluster(t testing.TB, options ...string) *Cluster {
	t.Helper()
	options = append([]string{"--repl-diskless-sync-delay", "0"}, options...)
	c := RedisCluster(t, options...)
	for _, master := range c.Masters {
		replica := clusterNode(t, options)
		mustAsk(t, replica.Addr(), "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(master.port), busPort(master.port))
		id := mustAsk(t, master.Addr(), "CLUSTER", "MYID")
		await(t, "replica", func() error {
			_, err := ask(replica.Addr(), "CLUSTER", "REPLICATE", id)
			return err
		})
		c.Replicas = append(c.Replicas, replica)
	}
	for _, replica := range c.Replicas {
		await(t, "replica", func() error {
			return expect(replica.Addr(), []string{"INFO", "replication"}, "role:slave", "master_link_status:up")
		})
	}
	for _, node := range slices.Concat(c.Masters, c.Replicas) {
		await(t, "cluster", func() error {
			return expect(node.Addr(), []string{"CLUSTER", "INFO"}, "cluster_state:ok", "cluster_known_nodes:6")
		})
	}
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
	RequireInstalled(t, "redis-server", "redis-cli")
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
