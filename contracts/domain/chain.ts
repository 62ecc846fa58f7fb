import { z } from 'zod'

/** A chain that payments are made on, and its USDC. Everything that is signed names both, so it is good on this chain alone. */
export interface PaymentChain {
  readonly id: number
  /** In version 2 of x402 (CAIP-2). */
  readonly network: string
  /** In version 1, whose clients know chains by name; undefined where it has none for this one. */
  readonly networkV1: string | undefined
  /** As its issuer spells it (EIP-55): some clients compare the text. */
  readonly usdc: `0x${string}`
  /** The EIP-712 domain of the token, beside chain and contract. */
  readonly domain: { readonly name: string; readonly version: string }
  /** The contract that verifies authorizations of the gateway rail; undefined where there is no gateway. */
  readonly gateway: `0x${string}` | undefined
}

/** The network of real payments. */
export const BASE = {
  id: 8453,
  network: 'eip155:8453',
  networkV1: 'base',
  usdc: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  domain: { name: 'USD Coin', version: '2' },
  gateway: '0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE',
} as const satisfies PaymentChain

/** Its test network, whose USDC is given away. */
export const BASE_SEPOLIA = {
  id: 84_532,
  network: 'eip155:84532',
  networkV1: 'base-sepolia',
  usdc: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  domain: { name: 'USDC', version: '2' },
  gateway: undefined,
} as const satisfies PaymentChain

/** Networks by name, and `eip155:` with the number of any other chain. */
export const NETWORK_NAME = /^(?:base|base-sepolia|eip155:[1-9]\d{0,14})$/

/**
 * The chain of a name. Of a chain that is known by its number alone, the token has to be given: one that signs as USDC does.
 *
 * @example paymentChain('eip155:31337', '0x5D77289c07401197e641F31EC228ac9196219079')?.id // 31337
 */
export function paymentChain(name: string, token?: `0x${string}`): PaymentChain | undefined {
  const known = [BASE, BASE_SEPOLIA].find(({ network, networkV1 }) => name === network || name === networkV1)
  if (known !== undefined || token === undefined) return known
  const id = Number(name.slice('eip155:'.length))
  return { id, network: name, networkV1: undefined, usdc: token, domain: BASE.domain, gateway: undefined }
}

/** The same for settings that were checked. @throws RangeError where the token is missing */
export function requirePaymentChain(name: string, token?: `0x${string}`): PaymentChain {
  const found = paymentChain(name, token)
  if (found === undefined)
    throw new RangeError(`${name} is known by its number alone, and no token was given`)
  return found
}

/** The EIP-712 domain of the gateway, beside chain and contract. */
export const GATEWAY_DOMAIN = { name: 'GatewayWalletBatched', version: '1' } as const

/** An account or a contract, in lower case: two spellings of one address are one. */
export const addressSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hexadecimal digits')
  .toLowerCase()

/** 32 bytes, in lower case: a nonce, or the hash of a transaction or a block. */
export const bytes32Schema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 32 bytes: 0x and 64 hexadecimal digits')
  .toLowerCase()

/** An amount of USDC in its smallest unit, a millionth: decimal digits without leading zeros. */
export const microUsdcSchema = z
  .string()
  .regex(/^(0|[1-9]\d{0,17})$/, 'must be an amount in millionths of a USDC')

/** Decimal USDC with two to six decimals. @example formatUsdc(20_000n) === '0.02' */
export function formatUsdc(microUsdc: bigint): string {
  const digits = microUsdc.toString().padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '').padEnd(2, '0')
  return `${digits.slice(0, -6)}.${fraction}`
}

/** Decimal text of an amount of USDC: at most six decimals, no sign. */
export const USDC_TEXT = /^\d{1,12}(\.\d{1,6})?$/

/** @param usdc as {@link USDC_TEXT} has it @example parseUsdc('0.02') === 20_000n */
export function parseUsdc(usdc: string): bigint {
  const [whole = '', fraction = ''] = usdc.split('.')
  return BigInt(`${whole}${fraction.padEnd(6, '0')}`)
}
