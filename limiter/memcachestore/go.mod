module github.com/httplimit/httplimit/limiter/memcachestore

go 1.25.0

replace github.com/httplimit/httplimit => ../..

require (
	github.com/bradfitz/gomemcache v0.0.0-20230905024940-24af94b03874
	github.com/httplimit/httplimit v0.0.0
)
