import { describe, expect, test } from 'vitest'
import { readSettings } from './read-settings.ts'

const PAY_TO = `0x${'Ab'.repeat(20)}`
const facilitator = 'https://x402.example.com'
const node = 'https://base.example.com/v1/abc'
const here = 'http://127.0.0.1:8545'

describe('settings of payments', () => {
  test.each([
    [{ X402_PAY_TO: PAY_TO }],
    [{ X402_PAY_TO: PAY_TO, X402_RPC_URL: here, X402_FACILITATOR_URL: here }],
    [{ X402_PAY_TO: PAY_TO, X402_RPC_URL: 'http://[::1]:8545', X402_GATEWAY_URL: 'http://localhost:9/v1' }],
    [{ X402_PAY_TO: PAY_TO, X402_GATEWAY_URL: 'off' }],
    [{ MARKET: 'live', X402_PAY_TO: PAY_TO, X402_RPC_URL: node, X402_FACILITATOR_URL: facilitator }],
    [
      {
        X402_NETWORK: 'base-sepolia',
        X402_PAY_TO: PAY_TO,
        X402_RPC_URL: node,
        X402_FACILITATOR_URL: facilitator,
      },
    ],
    [
      {
        X402_NETWORK: 'eip155:84532',
        X402_PAY_TO: PAY_TO,
        X402_RPC_URL: node,
        X402_FACILITATOR_URL: facilitator,
      },
    ],
    [{ X402_NETWORK: 'eip155:31337', X402_ASSET: PAY_TO, X402_PAY_TO: PAY_TO, X402_RPC_URL: here }],
  ])('%j fit together', (environment) => {
    expect(readSettings([], environment).X402_PAYER_CAP).toBe(1_000_000n)
  })

  test.each([
    [{ X402_RPC_URL: node }, 'X402_RPC_URL is not on this machine'],
    [
      { X402_FACILITATOR_URL: 'https://127.0.0.1.example.com' },
      'X402_FACILITATOR_URL is not on this machine',
    ],
    [{ X402_GATEWAY_URL: 'https://gateway.example.com' }, 'X402_GATEWAY_URL is not on this machine'],
    [{ MARKET: 'recorded', MARKET_DATA: './x', X402_RPC_URL: node }, 'MARKET is recorded'],
    [{ X402_NETWORK: 'eip155:31337' }, 'X402_ASSET does not name its token'],
    [{ X402_NETWORK: 'base-sepolia', X402_ASSET: PAY_TO }, 'the token of base-sepolia is known'],
    [{ X402_NETWORK: 'eip155:31337', X402_ASSET: PAY_TO, X402_RPC_URL: node }, 'is not on this machine'],
    [{ X402_NETWORK: 'solana' }, 'must be base, base-sepolia'],
    [{ X402_NETWORK: 'eip155:1', X402_ASSET: '0x12' }, 'must be an address'],
    [{ X402_PAY_TO: PAY_TO, X402_FACILITATOR_URL: here }, 'X402_RPC_URL does not name the node'],
    [{ X402_RPC_URL: here, X402_FACILITATOR_URL: here }, 'X402_PAY_TO does not say'],
    [{ X402_FACILITATOR_TOKEN: 't', X402_CDP_KEY: 'a:b' }, 'both for the facilitator'],
  ])('%j do not', (environment, words) => {
    expect(() => readSettings([], environment)).toThrowError(words)
  })

  test('neither a key nor the node’s address is shown', () => {
    for (const environment of [{ X402_CDP_KEY: 'hunter2' }, { X402_RPC_URL: 'ftp://hunter2' }]) {
      expect(() => readSettings([], environment)).toThrowError(/^(?!.*hunter2)/)
    }
  })

  test.each([
    ['0.5', 500_000n],
    ['20', 20_000_000n],
    ['0.000001', 1n],
  ])('%s USDC are %s millionths', (text, amount) => {
    expect(readSettings([], { X402_PAYER_CAP: text }).X402_PAYER_CAP).toBe(amount)
  })

  test.each(['-1', '1e3', '0.0000001', 'much'])('%s is no amount', (text) => {
    expect(() => readSettings([], { X402_TOTAL_CAP: text })).toThrowError('X402_TOTAL_CAP')
  })

  test('a model and the place it is at belong together', () => {
    expect(() => readSettings([], { LLM_MODEL: 'm' })).toThrowError('belong together')
    expect(readSettings([], { LLM_MODEL: 'm', LLM_BASE_URL: here }).LLM_MODEL).toBe('m')
  })

  test('a switch needs no value as a flag', () => {
    expect(readSettings(['--exit-at-end', '--webhooks-allow-private'], {})).toMatchObject({
      EXIT_AT_END: true,
      WEBHOOKS_ALLOW_PRIVATE: true,
    })
  })
})
