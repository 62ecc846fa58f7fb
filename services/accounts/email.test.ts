import { describe, expect, test } from 'vitest'
import { normaliseEmail } from './email.ts'

describe('an e-mail address', () => {
  test.each([
    [' Ada@Example.COM ', 'ada@example.com'],
    ['ada.lovelace+bot@mail.example.co', 'ada.lovelace+bot@mail.example.co'],
    ['a@bücher.example', 'a@xn--bcher-kva.example'],
    ['o\u2019hara@example.com'.replace('\u2019', "'"), "o'hara@example.com"],
    [
      `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.com`,
      `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.com`,
    ],
  ])('%j is %j', (text, email) => {
    expect(normaliseEmail(text)).toBe(email)
    expect(normaliseEmail(email)).toBe(email)
  })

  test.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@localhost',
    'ada@example',
    'ada@@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'a..da@example.com',
    'ada lovelace@example.com',
    '"ada"@example.com',
    'ada@example.com,eve@example.org',
    'ada,eve@example.com',
    'ada@example.com>',
    '<ada@example.com',
    'Ada <ada@example.com>',
    'ada@example.com\r\nBcc: eve@example.org',
    'ada\n@example.com',
    'ada\u0000@example.com',
    'ada@127.0.0.1',
    'ada@[127.0.0.1]',
    'ada@-example.com',
    'ada@exa_mple.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(250)}.com`,
    `a@${'b'.repeat(64)}.com`,
    'ä@example.com',
    'ada@example.com:587',
  ])('%j is refused', (text) => {
    expect(() => normaliseEmail(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })
})
