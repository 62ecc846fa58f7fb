import { ServiceError } from '../../../contracts/errors.ts'
import type { Settings } from './settings.ts'

/** Settings that name a chain, or somebody who reaches one. */
const CHAIN_URLS = ['X402_RPC_URL', 'X402_FACILITATOR_URL', 'X402_GATEWAY_URL'] as const
/** What a chain of this machine's own brings along. */
const OF_THE_DEMO_CHAIN = [
  'X402_PAY_TO',
  'X402_RPC_URL',
  'X402_SETTLER_KEY',
  'X402_FACILITATOR_URL',
  'X402_GATEWAY_URL',
  'X402_REFUND_KEY',
] as const

/**
 * Payments that could not be settled, and real money for made-up verdicts, are refused before anything starts.
 *
 * @throws ServiceError `config_invalid`
 */
export function requireFittingPayments(settings: Settings): void {
  const isSet = (name: keyof Settings): boolean => settings[name] !== undefined
  for (const name of CHAIN_URLS) {
    const url = settings[name]
    if (settings.MARKET === 'live' || url === undefined || url === 'off' || isOnLoopback(url)) continue
    throw invalid(
      `MARKET is ${settings.MARKET}, and ${name} is not on this machine: real money is not taken for verdicts on a market that is not live. Use --market live, or a chain on this machine (--demo-chain)`,
    )
  }
  if (settings.DEMO_CHAIN) {
    if (settings.MARKET === 'live') {
      throw invalid('DEMO_CHAIN (--demo-chain) is play money, and MARKET is live. Leave one of them out')
    }
    const given = OF_THE_DEMO_CHAIN.find(isSet)
    if (given !== undefined) {
      throw invalid(`DEMO_CHAIN (--demo-chain) brings its own ${given}. Leave one of them out`)
    }
  }
  if (isSet('X402_SETTLER_KEY') && !isSet('X402_RPC_URL')) {
    throw invalid('X402_SETTLER_KEY sends through a node: set X402_RPC_URL, or leave it out')
  }
  if (isSet('X402_REFUND_KEY') && !isSet('X402_SETTLER_KEY')) {
    throw invalid(
      'X402_REFUND_KEY signs, and the wallet of X402_SETTLER_KEY brings to the chain: set that, or leave it out',
    )
  }
  if (isSet('X402_REFUND_KEY') && settings.X402_REFUND_KEY === settings.X402_SETTLER_KEY) {
    throw invalid('X402_REFUND_KEY is the key of X402_SETTLER_KEY: money and gas are kept in two wallets')
  }
  if (isSet('X402_SETTLER_KEY') && isSet('X402_FACILITATOR_URL')) {
    throw invalid('X402_SETTLER_KEY and X402_FACILITATOR_URL both settle. Leave one of them out')
  }
  const isSettled = isSet('X402_SETTLER_KEY') || isSet('X402_FACILITATOR_URL')
  if (isSettled && !isSet('X402_PAY_TO')) {
    throw invalid(
      'Payments can be settled, and X402_PAY_TO does not say to whom. Set it to your address on Base',
    )
  }
  if (isSet('X402_FACILITATOR_TOKEN') && isSet('X402_CDP_KEY')) {
    throw invalid(
      'X402_FACILITATOR_TOKEN and X402_CDP_KEY are both for the facilitator. Leave one of them out',
    )
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const isOnLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname)

const invalid = (message: string): ServiceError => new ServiceError('config_invalid', { message })
