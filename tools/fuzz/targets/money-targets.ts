import { parse } from 'node:querystring'
import { BASE } from '../../../contracts/domain/chain.ts'
import { readCredential } from '../../../services/accounts/credentials.ts'
import { normaliseEmail } from '../../../services/accounts/email.ts'
import { createClientDocuments } from '../../../services/accounts/oauth/client-documents.ts'
import { readAuthorization, readDestination } from '../../../services/accounts/oauth/read-authorization.ts'
import { createTokens } from '../../../services/accounts/oauth/tokens.ts'
import { readCode } from '../../../services/accounts/sign-in/sign-in-code.ts'
import { readPayment } from '../../../services/payments/reading/read-payment.ts'
import { opinionOf, verdictOf } from '../../../services/payments/settlement/facilitator.ts'
import type { Target } from '../target.ts'

const textOf = (input: Buffer): string => input.toString('utf8')
const jsonOf = (input: Buffer): unknown => {
  try {
    return JSON.parse(textOf(input)) as unknown
  } catch {
    return textOf(input)
  }
}
/** Base64 of JSON as wallets send it; what is mutated is the JSON, or what stands for it. */
const asHeader = (text: string): string =>
  text.startsWith('{') ? Buffer.from(text).toString('base64') : text

const CLIENT = {
  clientId: 'https://app.example/client.json',
  name: 'Example',
  redirectUris: ['http://127.0.0.1/callback', 'https://app.example/callback'],
} as const
const tokens = createTokens(Buffer.alloc(32, 1), (bytes) => Buffer.alloc(bytes, 2))

/** Proofs of identity and payments of callers. */
export const MONEY_TARGETS: readonly Target[] = [
  { name: 'payment', read: (input) => readPayment(['payment-signature', asHeader(textOf(input))], BASE) },
  {
    name: 'facilitator',
    read: (input) =>
      [200, 400, 500].map((status) => [verdictOf(status, jsonOf(input)), opinionOf(status, jsonOf(input))]),
  },
  { name: 'credential', read: (input) => readCredential(textOf(input)), isSecret: true },
  { name: 'access-token', read: (input) => tokens.openAccess(textOf(input)), isSecret: true },
  { name: 'email', read: (input) => normaliseEmail(textOf(input)), isSecret: true },
  { name: 'sign-in-code', read: (input) => readCode(textOf(input)), isSecret: true },
  {
    name: 'oauth-request',
    read(input) {
      const parameters = parse(textOf(input))
      return readAuthorization(parameters, readDestination(parameters, CLIENT), 'https://signals.example.com')
    },
  },
  {
    name: 'oauth-document',
    async read(input) {
      const fetchDocument = async () => ({
        status: 200,
        contentType: 'application/json',
        maxAgeS: 0,
        body: textOf(input),
      })
      const documents = createClientDocuments({ fetchDocument, now: () => 0 })
      await documents.find(CLIENT.clientId, { name: 'asker', admit: async () => undefined })
    },
  },
]
