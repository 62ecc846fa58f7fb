import { z } from 'zod'
import { addressSchema, NETWORK_NAME } from '../../../contracts/domain/chain.ts'
import { defineSettings } from './setting-definition.ts'
import { url, usdc } from './setting-schemas.ts'

/** Settings of payments for single calls and plans. */
export const PAYMENT_SETTINGS = defineSettings({
  X402_NETWORK: {
    schema: z
      .string()
      .regex(NETWORK_NAME, 'must be base, base-sepolia, or eip155: and the number of a chain')
      .default('base'),
    help: 'Chain that payments are made on: base, base-sepolia (test money), or another one by its number; that needs X402_ASSET. Default: base.',
    example: 'base-sepolia',
  },
  X402_ASSET: {
    schema: z
      .custom<`0x${string}`>(
        (text) => /^0x[0-9a-fA-F]{40}$/.test(String(text)),
        'must be an address: 0x and 40 hexadecimal digits',
      )
      .optional(),
    help: 'Token that is paid in on a chain given by its number; it takes authorizations as USDC does (EIP-3009) and signs under the name USD Coin, version 2. Default: the USDC of the network.',
    example: '0x5D77289c07401197e641F31EC228ac9196219079',
  },
  X402_PAY_TO: {
    schema: addressSchema.optional(),
    help: 'Address that USDC is paid to. Default: none, calls cannot be paid for one by one.',
    example: '0x2222222222222222222222222222222222222222',
  },
  X402_RPC_URL: {
    schema: url(['http:', 'https:']),
    help: 'Node of the chain, which tells what payers have and whether they have paid. Payments on the chain need it and X402_FACILITATOR_URL. Default: none.',
    isSecret: true,
    example: 'https://base.example.com/v1/key',
  },
  X402_FACILITATOR_URL: {
    schema: url(['http:', 'https:']),
    help: 'Facilitator that submits payments to the chain (/settle, /supported); needs X402_RPC_URL. Default: none, payments on the chain are not taken.',
    example: 'https://api.cdp.coinbase.com/platform/v2/x402',
  },
  X402_FACILITATOR_TOKEN: {
    schema: z.string().min(1).max(4_096).optional(),
    help: 'Bearer token for the facilitator. Default: none.',
    isSecret: true,
    example: 'the token that your facilitator gave you',
  },
  X402_CDP_KEY: {
    schema: z
      .string()
      .refine((text) => /^[^:\s]{1,256}:\S{1,4096}$/.test(text), { message: 'must be id:secret' })
      .optional(),
    help: "Key of Coinbase's Developer Platform, as id:secret; a token for each request to the facilitator is made of it. Default: none.",
    isSecret: true,
    example: '0f5c…:MC4CAQAwBQYDK2VwBCIEIE…',
  },
  X402_GATEWAY_URL: {
    schema: z.union([z.literal('off'), url(['http:', 'https:']).unwrap()]).optional(),
    help: 'Facilitator of the payment gateway that is offered as a second rail, or off. Default: https://gateway-api.circle.com/v1/x402 on a live market; otherwise the rail is offered and not taken. On other chains than Base there is none.',
    example: 'off',
  },
  X402_PAYER_CAP: {
    schema: usdc('1'),
    help: 'USDC that one payer may have claimed and not settled; beyond it answers wait for the settlement. Default: 1.',
    example: '0.5',
  },
  X402_TOTAL_CAP: {
    schema: usdc('50'),
    help: 'USDC that all payers together may have claimed and not settled; beyond it answers wait for their money. Default: 50.',
    example: '20',
  },
})
