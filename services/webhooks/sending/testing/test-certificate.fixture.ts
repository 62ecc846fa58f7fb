/**
 * A certificate of no worth, signed by itself, for `hooks.example.com`, every name below it, and `127.0.0.1`; its key is
 * public by standing here. Valid for a hundred years, so that no test fails of old age.
 */
export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIByjCCAXCgAwIBAgIUabxd7QwXJrf28uKOoCyYWmV6yD0wCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRaG9va3MuZXhhbXBsZS5jb20wIBcNMjYxMTI0MTMyNzA4WhgP
MjEyNjEwMzExMzI3MDhaMBwxGjAYBgNVBAMMEWhvb2tzLmV4YW1wbGUuY29tMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWnDNZeVePRcUH10oebLZy9j1KZKTb5jP
dfkw4KZ5m6VEqjmjbqA6v/4NS6s/LSnBWp5iZxt6oxAJ7JmpCIVJEaOBjTCBijAd
BgNVHQ4EFgQU0VLTl9+kTJijgDggr35GKwBaApYwHwYDVR0jBBgwFoAU0VLTl9+k
TJijgDggr35GKwBaApYwDwYDVR0TAQH/BAUwAwEB/zA3BgNVHREEMDAughFob29r
cy5leGFtcGxlLmNvbYITKi5ob29rcy5leGFtcGxlLmNvbYcEfwAAATAKBggqhkjO
PQQDAgNIADBFAiBHFiRICTTMXUrc6ncEKigXW+8QkHr9grGi7SVVzfJhMwIhAIw4
UvO/5QtjDjmAwhzia5sMwNWpOxkJzf+cYKZeHySD
-----END CERTIFICATE-----`

export const TEST_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWiiJN1aFhIVz4c20
fIim/CkCj3NsxVL9WgZkChRXCP+hRANCAARacM1l5V49FxQfXSh5stnL2PUpkpNv
mM91+TDgpnmbpUSqOaNuoDq//g1Lqz8tKcFanmJnG3qjEAnsmakIhUkR
-----END PRIVATE KEY-----`
