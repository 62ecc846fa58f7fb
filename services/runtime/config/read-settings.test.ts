import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { readSettings } from './read-settings.ts'
import { SETTINGS } from './settings.ts'

function refusal(args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  try {
    readSettings(args, environment)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'config_invalid') return error.message
    throw error
  }
  throw new Error('expected a refusal')
}

describe('settings', () => {
  test('all have a default, so that nothing needs to be set', () => {
    expect(readSettings([], {})).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 8402,
      MARKET: 'simulated',
      DATA_DIR: './data',
      ROLES: ['api', 'engine', 'projector', 'dispatcher', 'settler'],
      COINS: undefined,
      EXIT_AT_END: false,
    })
  })

  test('come from the environment, and flags win', () => {
    const environment = { PORT: '9000', COINS: 'BTC, ETH', TIMEFRAMES: 'all', MARKET_DATA: '' }
    const settings = readSettings(['--port', '9001', '--exit-at-end'], environment)
    expect(settings).toMatchObject({
      PORT: 9001,
      COINS: ['BTC', 'ETH'],
      TIMEFRAMES: undefined,
      EXIT_AT_END: true,
    })
    expect(settings.MARKET_DATA).toBeUndefined()
  })

  test.each([
    [undefined, undefined],
    ['off', undefined],
    ['2', { hops: 2 }],
    ['10.0.0.0/8, fd00::/8,127.0.0.1', { networks: ['10.0.0.0/8', 'fd00::/8', '127.0.0.1'] }],
  ])('proxies that are trusted are none, a number or networks: %j', (given, read) => {
    expect(readSettings([], { TRUST_PROXY: given }).TRUST_PROXY).toEqual(read)
  })

  test.each(['0', '11', 'loopback', '10.0.0.0/33', '10.0.0.0/8,', 'true', '1.5'])(
    'proxies cannot be %j',
    (given) => {
      expect(refusal([], { TRUST_PROXY: given })).toContain('TRUST_PROXY')
    },
  )

  test.each(['DATA_DIR', 'MARKET_DATA', 'LOG_NEWEST'])(
    '%s is written out: no shell has read a ~ in it',
    (name) => {
      expect(refusal([], { [name]: '~/signal' })).toContain(`${name} is "~/signal": must be written out`)
    },
  )

  test('rates are requests a second, or off', () => {
    const read = readSettings(['--rate-per-key', 'off'], { RATE_PER_ADDRESS: '7' })
    expect([read.RATE_PER_ADDRESS, read.RATE_PER_KEY]).toEqual([7, undefined])
    expect(readSettings([], {})).toMatchObject({ RATE_PER_ADDRESS: 100, RATE_PER_KEY: 50 })
    expect(refusal([], { RATE_PER_KEY: '0' })).toContain('RATE_PER_KEY')
  })

  test('instants are UTC milliseconds', () => {
    const settings = readSettings(['--from', '2024-01-01', '--to', '2024-01-01T06:00:00+02:00'], {})
    expect([settings.MARKET_FROM, settings.MARKET_TO]).toEqual([
      Date.UTC(2024, 0, 1),
      Date.UTC(2024, 0, 1, 4),
    ])
  })

  test.each([
    [['--port', '70000'], '--port is "70000"'],
    [['--port', 'http'], '--port is "http"'],
    [['--port', ' '], '--port is " "'],
    [['--speed', '1e3'], '--speed is "1e3"'],
    [['--market', 'lunar'], '--market is "lunar"'],
    [['--timeframes', '1h,7m'], '--timeframes is "1h,7m"'],
    [['--coins', 'b$c'], '--coins is "b$c"'],
    [['--coins', ''], '--coins is ""'],
    [['--exchanges', 'NASDAQ'], '--exchanges is "NASDAQ"'],
    [['--speed', '0'], '--speed is "0"'],
    [['--from', 'yesterday'], '--from is "yesterday"'],
    [['--roles', 'api,cook'], '--roles is "api,cook"'],
    [['--nats-url', 'localhost:4222'], '--nats-url is (not shown)'],
    [['--market', 'recorded'], 'MARKET_DATA (--data) names no folder'],
    [['--from', '2024-02-01', '--to', '2024-01-01'], 'is not before'],
    [['--roles', 'api'], 'Set EVENTSTORE_URL'],
    [['--eventstore-url', 'esdb://localhost:2113'], 'SEALING_KEY, without which'],
    [
      [
        '--roles',
        'dispatcher',
        '--eventstore-url',
        'esdb://localhost:2113',
        '--sealing-key',
        'A'.repeat(43) + '=',
      ],
      'PUBLIC_URL, the address of the service that webhooks name',
    ],
    [['--verbose'], 'There is no flag --verbose. All flags: npm start -- --help'],
    [['--sped', '60'], 'There is no flag --sped. Did you mean --speed?'],
    [['--port'], '--port has no value. For example: --port 8402'],
    [['--port', '--speed', '60'], '--port has no value'],
    [['--exit-at-end=yes'], '--exit-at-end takes no value'],
    [['--coins', 'BTC', '--coins', 'ETH'], '--coins is given twice; give it once, with commas'],
    [['--port', '8500', '--port', '8500'], '--port is given twice'],
    [['--exit-at-end', '--exit-at-end'], '--exit-at-end is given twice'],
    [['60'], 'The service takes flags only, not "60". For example: npm start -- --speed 60'],
  ])('%j is refused with the name, the value and an example', (args, words) => {
    const message = refusal(args)
    expect(message).toContain(words)
    expect(message).toMatch(
      /For example: |All flags: |Set EVENTSTORE_URL|Set the same one|given twice|no value/,
    )
  })

  test('a refused variable is named as the variable it is', () => {
    expect(refusal([], { PORT: 'x' })).toContain('PORT is "x"')
  })

  test.each([
    ['npm_config_speed', 'npm start -- --speed 60'],
    ['npm_config_exit_at_end', 'npm start -- --exit-at-end'],
  ])('flags that npm kept for itself, as %s, are refused with the dashes', (variable, line) => {
    const message = refusal([], { [variable]: 'true' })
    expect(message).toContain('flags of the service follow two dashes')
    expect(message.endsWith(line)).toBe(true)
  })

  test('no secret is shown, whatever is wrong with it', () => {
    const environment = {
      OPERATOR_TOKEN: 'hunter2',
      SEALING_KEY: 'hunter2',
      REDIS_URL: 'http://me:hunter2@host',
      VENUE_URLS: 'BINANCE=https://me:hunter2@relay.example',
    }
    for (const [name, value] of Object.entries(environment)) {
      const message = refusal([], { [name]: value })
      expect(message).toContain(name)
      expect(message).not.toContain('hunter2')
    }
  })

  test('flags are unique', () => {
    const flags = Object.values(SETTINGS).map((definition) => definition.flag)
    expect(new Set(flags).size).toBe(flags.length)
  })
})
