package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

var agents = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 " +
		"Safari/605.1.15",
	"Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0",
	"Mozilla/5.0 (compatible; examplebot/1.0; +https://example.com/bot)",
}

// writeLog writes a combined log of one day, and says how many of its requests are logins.
func writeLog(name string, lines, clients int) (logins int, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.1, 1, uint64(clients-1))
	day := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	w := bufio.NewWriter(f)
	for i := range lines {
		client := zipf.Uint64() * 2654435761 % (1 << 24) // spread over a network of addresses
		method, path, status := "GET", fmt.Sprintf("/products/%d?page=%d", random.IntN(5000), i%7), 200
		switch random.IntN(20) {
		case 0:
			method, path, logins = "POST", "/login", logins+1
		case 1:
			status = 404
		}
		at := day.Add(time.Duration(i) * (24 * time.Hour / time.Duration(lines)))
		fmt.Fprintf(w, "11.%d.%d.%d - - [%s] \"%s %s HTTP/1.1\" %d %d \"https://shop.example/\" \"%s\"\n", client>>16,
			client>>8&255, client&255, at.Format("02/Jan/2006:15:04:05 -0700"), method, path, status, random.IntN(50_000),
			agents[client%uint64(len(agents))])
	}
	return logins, w.Flush()
}
