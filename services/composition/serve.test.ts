import fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../runtime/config/read-settings.ts'
import { addressWarning, listen } from './serve.ts'

describe('the address that is given out', () => {
  test('is one that can be gone to where HOST stands for every address, and the operator is warned', async () => {
    await using app = fastify()
    app.get('/', () => 'here')
    const settings = readSettings(['--host', '0.0.0.0', '--port', '0'], {})
    const url = await listen(app, settings)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(await (await fetch(url)).text()).toBe('here')
    expect(addressWarning(settings, url)).toMatch(
      /set PUBLIC_URL .*127\.0\.0\.1|127\.0\.0\.1.* set PUBLIC_URL/,
    )
  })

  test.each([
    [{}, 'http://127.0.0.1:8402'],
    [{ HOST: '::1' }, 'http://[::1]:8402'],
    [{ HOST: '0.0.0.0', PUBLIC_URL: 'https://signals.example.com' }, 'https://signals.example.com'],
    [{ HOST: '0.0.0.0' }, undefined],
  ])('needs no warning with %j', (environment, url) => {
    expect(addressWarning(readSettings([], environment), url)).toBeUndefined()
  })

  test.each(['0.0.0.0', '::', '0'])('is warned about for HOST=%s', (host) => {
    const url = 'http://127.0.0.1:8402'
    expect(addressWarning(readSettings(['--host', host], {}), url)).toContain(url)
  })
})
