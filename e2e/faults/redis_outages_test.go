package faults_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/faults/proxy"
	"github.com/httplimit/httplimit/e2e/servers"
)

func TestRedisOutages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		options
		outage
	}{
		{options{direct: true}, outage{name: "refused from the start", fromStart: true, fault: kill, heal: restart}},
		{options{direct: true}, outage{name: "killed", fault: kill, heal: restart, loses: true}},
		{options{}, outage{name: "black hole", fault: hold, heal: works}},
		{options{deaf: true}, outage{name: "black hole, and a client that ignores deadlines", fault: hold, heal: works}},
		{options{}, outage{name: "slower than the time-out", fault: slow, heal: works}},
		{options{deaf: true}, outage{name: "slower than the time-out, and a client that ignores deadlines", fault: slow,
			heal: works}},
		{options{}, outage{name: "OOM", fault: set("maxmemory", "1"), heal: set("maxmemory", "0"), refuses: true}},
		{options{}, outage{name: "NOAUTH", fault: password, heal: set("requirepass", "")}},
		{options{}, outage{name: "NOPERM", fault: user("-@scripting"), heal: user("+@scripting")}},
	} {
		t.Run(row.name, func(t *testing.T) {
			beside(t)
			row.run(t, startRedis(t, row.options))
		})
	}
}

func kill(t *testing.T, r *rig)    { r.server.Kill(t) }
func restart(t *testing.T, r *rig) { r.server.Restart(t) }

func hold(_ *testing.T, r *rig)  { r.proxy.Set(proxy.Fault{Hold: true}) }
func works(_ *testing.T, r *rig) { r.proxy.Set(proxy.Fault{}) }

func slow(_ *testing.T, r *rig) {
	r.proxy.Set(proxy.Fault{Answer: func([]byte) proxy.Action { return proxy.Action{Delay: 4 * timeout} }})
}

func set(name, value string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) { r.do(t, "CONFIG", "SET", name, value) }
}

func user(rights string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) { r.do(t, "ACL", "SETUSER", "default", rights) }
}

// password asks for one, of connections too that were there before: a secret that was changed.
func password(t *testing.T, r *rig) {
	r.do(t, "CONFIG", "SET", "requirepass", "secret")
	r.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
}

// After a failover the old primary is a replica and refuses writes, for ever to a client that stays connected to it.
// What was replicated to the new primary by then is kept.
func TestRedisReadOnlyAfterFailover(t *testing.T) {
	beside(t)
	r := startRedis(t, options{server: []string{"--repl-diskless-sync-delay", "0"}})
	next := &rig{server: servers.Redis(t)}
	next.admin = connect(t, &redis.Options{Addr: next.server.Addr()}).Conn()
	next.follow(t, r.server)
	outage{
		refuses: true,
		fault: func(t *testing.T, r *rig) {
			r.do(t, "CLIENT", "PAUSE", patience.Milliseconds(), "WRITE")
			servers.Await(t, "the replica has everything", func() bool { return r.offset(t) == next.offset(t) })
			next.do(t, "REPLICAOF", "NO", "ONE")
			r.follow(t, next.server)
			r.do(t, "CLIENT", "UNPAUSE")
		},
		heal: func(_ *testing.T, r *rig) { r.proxy.Redirect(next.server.Addr()) },
	}.run(t, r)
}

// offset returns the replication offset of the server.
func (r *rig) offset(t *testing.T) string {
	t.Helper()
	info, err := r.admin.InfoMap(context.Background(), "replication").Result()
	if err != nil {
		t.Fatal(err)
	}
	return info["Replication"]["master_repl_offset"]
}

// A server that loads its dump after a restart answers nothing but LOADING until it is done. Counts from after the dump
// are lost.
func TestRedisLoading(t *testing.T) {
	beside(t)
	r := startRedis(t, options{direct: true, server: []string{
		"--key-load-delay", "2000", // microseconds: 10,000 keys take longer than the row needs
		"--loading-process-events-interval-bytes", "1024", // it answers between them
	}})
	r.do(t, "EVAL", "for i = 1, 10000 do redis.call('SET', 'other:' .. i, string.rep('x', 100)) end return 1", "0")
	outage{
		fault: func(t *testing.T, r *rig) {
			r.do(t, "SAVE")
			r.server.Kill(t)
			r.server.Restart(t)
		},
		heal: func(t *testing.T, r *rig) {
			r.admin = connect(t, &redis.Options{Addr: r.server.Addr()}).Conn()
			r.do(t, "CONFIG", "SET", "key-load-delay", "0")
		},
	}.run(t, r)
}

// Other code holds all connections of the pool.
func TestRedisPoolExhausted(t *testing.T) {
	beside(t)
	r := startRedis(t, options{pool: 1})
	var other *redis.Conn
	outage{
		fault: func(t *testing.T, r *rig) {
			other = r.client.Conn()
			if err := other.Ping(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
		},
		heal: func(*testing.T, *rig) { other.Close() },
	}.run(t, r)
}
