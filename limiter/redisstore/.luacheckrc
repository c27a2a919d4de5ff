-- Redis runs scripts in Lua 5.1, with these globals beside the language's own.
std = "lua51"
read_globals = {"redis", "KEYS", "ARGV"}
max_line_length = 120
