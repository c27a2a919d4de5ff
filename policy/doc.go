// Package policy reads rate limits from a file, so that operators can change, review and test them without Go:
//
//	{"trustedProxies": ["10.0.0.0/8"],
//	 "rules": [
//	  {"name": "address", "key": "ip", "limit": "300/m"},
//	  {"name": "login", "key": "ip + header:X-User", "limit": "5/15m", "when": ["POST /login"], "private": true}]}
//
// [Parse] finds every fault of a text at once and tells its line and column. [Policy.Config] makes the
// [httplimit.Config] for it, to which the program adds what no file should say: the store, the secret, the observer.
// What a file cannot say, such as a user that authentication has found, it takes by name from [Names].
//
// [Describe] is the way back: what a Config in force would say as a file. The reference of the file is docs/policy.md;
// schema.json beside this package has editors complete and check it. A Policy also reads and writes itself by
// encoding/json and by what builds on it; UnmarshalJSON is Parse.
package policy
