/** Headers of every answer. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Headers about one request and its caller: left out of answers that caches keep for others. */
export const CALLERS_HEADERS = ['x-request-id', 'ratelimit', 'ratelimit-policy'] as const
