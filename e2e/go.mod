module github.com/httplimit/httplimit/e2e

go 1.25.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/bradfitz/gomemcache v0.0.0-20230905024940-24af94b03874
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/coder/websocket v1.8.14
	github.com/fasthttp/websocket v1.5.7
	github.com/gin-gonic/gin v1.9.1
	github.com/go-chi/chi/v5 v5.3.0
	github.com/gofiber/fiber/v2 v2.52.15
	github.com/gofiber/fiber/v3 v3.5.0
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/httplimit/httplimit v0.0.0
	github.com/httplimit/httplimit/adapters/echo v0.0.0
	github.com/httplimit/httplimit/adapters/echo5 v0.0.0
	github.com/httplimit/httplimit/adapters/fiber v0.0.0
	github.com/httplimit/httplimit/adapters/fiber3 v0.0.0
	github.com/httplimit/httplimit/adapters/gin v0.0.0
	github.com/httplimit/httplimit/limiter/memcachestore v0.0.0
	github.com/labstack/echo/v4 v4.15.4
	github.com/labstack/echo/v5 v5.3.1
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/gofiber/schema v1.8.3 // indirect
	github.com/gofiber/utils/v2 v2.4.1 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

require (
	github.com/andybalholm/brotli v1.2.2 // indirect
	github.com/bytedance/sonic v1.9.1 // indirect
	github.com/chenzhuoyu/base64x v0.0.0-20221115062448-fe3a3abad311 // indirect
	github.com/gabriel-vasile/mimetype v1.4.2 // indirect
	github.com/gin-contrib/sse v0.1.0 // indirect
	github.com/go-playground/locales v0.14.1 // indirect
	github.com/go-playground/universal-translator v0.18.1 // indirect
	github.com/go-playground/validator/v10 v10.14.0 // indirect
	github.com/goccy/go-json v0.10.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/httplimit/httplimit/limiter/redisstore v0.0.0
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/klauspost/compress v1.19.2 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/labstack/gommon v0.5.0 // indirect
	github.com/leodido/go-urn v1.2.4 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/pelletier/go-toml/v2 v2.0.8 // indirect
	github.com/redis/go-redis/v9 v9.19.0
	github.com/rivo/uniseg v0.2.0 // indirect
	github.com/savsgio/gotils v0.0.0-20230208104028-c358bd845dee // indirect
	github.com/twitchyliquid64/golang-asm v0.15.1 // indirect
	github.com/ugorji/go/codec v1.2.11 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasthttp v1.73.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	go.etcd.io/bbolt v1.4.3
	golang.org/x/arch v0.3.0 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
	google.golang.org/protobuf v1.30.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/httplimit/httplimit => ..
	github.com/httplimit/httplimit/adapters/echo => ../adapters/echo
	github.com/httplimit/httplimit/adapters/echo5 => ../adapters/echo5
	github.com/httplimit/httplimit/adapters/fiber => ../adapters/fiber
	github.com/httplimit/httplimit/adapters/fiber3 => ../adapters/fiber3
	github.com/httplimit/httplimit/adapters/gin => ../adapters/gin
)

replace github.com/httplimit/httplimit/limiter/redisstore => ../limiter/redisstore

replace github.com/httplimit/httplimit/limiter/memcachestore => ../limiter/memcachestore
