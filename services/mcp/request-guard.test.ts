import { describe, expect, test } from 'vitest'
import { refusalOf, requestGuard } from './request-guard.ts'

const local = requestGuard({ host: '127.0.0.1', publicUrl: 'https://Signals.example:8443/x', origins: [] })
const everywhere = requestGuard({ host: '0.0.0.0', origins: [] })

describe('names', () => {
  test.each([
    'localhost',
    'LOCALHOST:8402',
    '127.0.0.1:8402',
    '[::1]:8402',
    'signals.example',
    'signals.example:8443',
  ])('%s is a name of a local server with a public address', (host) => {
    expect(refusalOf(local, host, undefined)).toBeUndefined()
  })

  test.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.example:8402',
    '192.168.1.7:8402',
    'localhost:port',
    'localhost:8402:1',
    'user@localhost',
    '127.0.0.1.',
    '[::1',
  ])('%s is not', (host) => {
    expect(refusalOf(local, host, undefined)).toContain('PUBLIC_URL')
  })

  test('a server on all addresses is called by any of them, and by no other name', () => {
    expect(refusalOf(everywhere, '192.168.1.7:8402', undefined)).toBeUndefined()
    expect(refusalOf(everywhere, '[2001:db8::1]:8402', undefined)).toBeUndefined()
    expect(refusalOf(everywhere, 'localhost:8402', undefined)).toBeUndefined()
    expect(refusalOf(everywhere, 'evil.example:8402', undefined)).toBeDefined()
    expect(refusalOf(everywhere, '999.1.1.1', undefined)).toBeDefined()
  })

  test('a server on one address of a network is not called localhost', () => {
    const guard = requestGuard({ host: '192.168.1.7', origins: [] })
    expect(refusalOf(guard, '192.168.1.7:8402', undefined)).toBeUndefined()
    expect(refusalOf(guard, 'localhost:8402', undefined)).toBeDefined()
  })
})

describe('origins', () => {
  const guard = requestGuard({ host: '127.0.0.1', origins: ['https://page.example'] })
  test.each(['http://127.0.0.1:8402', 'https://127.0.0.1:8402', 'https://page.example'])(
    '%s may call',
    (origin) => {
      expect(refusalOf(guard, '127.0.0.1:8402', origin)).toBeUndefined()
    },
  )

  test.each([
    'http://127.0.0.1:3000',
    'http://localhost:8402',
    'http://page.example',
    'https://page.example.evil.example',
    'https://page.example:444',
    'null',
    '',
    'file://127.0.0.1:8402',
  ])('%s may not', (origin) => {
    expect(refusalOf(guard, '127.0.0.1:8402', origin)).toContain('origin')
  })

  test('a page that has its own name resolve to this service is of no use to it', () => {
    expect(refusalOf(everywhere, 'evil.example', 'http://evil.example')).toBeDefined()
  })
})
