package fleet_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/e2e/servers"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := servers.RedisCluster(t)
	conform(t, clusterClient(t, cluster))
	for _, addr := range cluster.Addrs() {
		wantKeys(t, addr)
	}
}

func clusterClient(t *testing.T, cluster *servers.Cluster) *redis.ClusterClient {
	t.Helper()
	addAccount(t, rules+" "+clusterCommands, cluster.Addrs()...)
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:    cluster.Addrs(),
		Username: user, Password: password,
		ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { client.Close() })
	return client
}
