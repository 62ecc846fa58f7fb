/**
 * A certificate of no worth, signed by itself, for `hooks.example.com` and `127.0.0.1`; its key is public by standing
 * here. Valid for a hundred years, so that no test fails of old age.
 */
export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBsjCCAVmgAwIBAgIUF9n5u98lM2cK6/oKoERtQi/IvPcwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRaG9va3MuZXhhbXBsZS5jb20wIBcNMjYxMTIxMDY1NDIxWhgP
MjEyNjEwMjgwNjU0MjFaMBwxGjAYBgNVBAMMEWhvb2tzLmV4YW1wbGUuY29tMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE87SItgrteuOa6HmF/0HQqJ1wWiTuKzow
EfgcUFHyBW8vgHp9CC/Wr5m11xwRqnHXd7pbNfzHwO+v7GbD1aQG/qN3MHUwHQYD
VR0OBBYEFNkrfBnbfN7DKVMSD3ISgb9xAyoAMB8GA1UdIwQYMBaAFNkrfBnbfN7D
KVMSD3ISgb9xAyoAMA8GA1UdEwEB/wQFMAMBAf8wIgYDVR0RBBswGYIRaG9va3Mu
ZXhhbXBsZS5jb22HBH8AAAEwCgYIKoZIzj0EAwIDRwAwRAIgedF7g6xhbv5Zv1h1
o50v5Z3NjrnooCV/SnjnTU7acrkCIAM1deTzrpj02sei1CqNtraidQAs9kyXxQrt
iEiqYdpy
-----END CERTIFICATE-----`

export const TEST_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgT8Ofxl9m18Nkj+mX
ceOGoMtg9Wq/Xo+We+96qNsBVAqhRANCAATztIi2Cu1645roeYX/QdConXBaJO4r
OjAR+BxQUfIFby+Aen0IL9avmbXXHBGqcdd3uls1/MfA76/sZsPVpAb+
-----END PRIVATE KEY-----`
