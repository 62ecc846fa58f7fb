import { z } from 'zod'
import { defineEvent } from './event-definition.ts'
import { accountId, sha256 as hash, reason, sealed, timeMs } from './field-schemas.ts'
import { CLIENT_METHODS, scopeSchema } from './oauth.ts'

const scopes = z.array(scopeSchema).min(1).max(8)
const stream = 'account-{account}'

export const AppAuthorized = defineEvent({
  type: 'AppAuthorized',
  stream,
  summary:
    'The owner of an account let a program act for it, and a code was made that the program exchanges. Of the code, the client and its redirect address keyed or plain hashes are kept; what the program is called is sealed.',
  data: z.object({
    accountId,
    grantId: z.uuid(),
    /** Client id, name and redirect host as JSON, sealed under the key of the account. */
    app: sealed,
    clientHash: z.uuid(),
    redirectHash: hash,
    codeHash: hash,
    /** The challenge of PKCE (RFC 7636, S256). */
    challenge: z.string().regex(/^[\w-]{43}$/),
    /** How the program proves at the token endpoint who it is. */
    method: z.enum(CLIENT_METHODS),
    scopes,
    codeExpiresAt: timeMs,
  }),
})

export const AppTokenIssued = defineEvent({
  type: 'AppTokenIssued',
  stream,
  summary:
    'A program was given an access token and a refresh token, for its code or for the refresh token before. The hash of the refresh token is kept; the one before it is used up.',
  data: z.object({ accountId, grantId: z.uuid(), refreshHash: hash, expiresAt: timeMs }),
})

export const AppEnded = defineEvent({
  type: 'AppEnded',
  stream,
  summary:
    'A program may not act for the account any more: its owner ended it, it gave its token back, or a code or a refresh token of it was used twice.',
  data: z.object({ accountId, grantId: z.uuid(), reason }),
})

export const MachineClientCreated = defineEvent({
  type: 'MachineClientCreated',
  stream,
  summary:
    'The owner of an account made a client for a machine, which is let in by a secret, of which the hash is kept, or by what its public keys verify.',
  data: z.object({
    accountId,
    machineId: z.uuid(),
    label: z.union([z.strictObject({ sealed }), z.strictObject({ text: z.literal('') })]),
    secretHash: hash.nullable(),
    /** A JWK set of public keys (RFC 7517) as JSON; null where a secret is the proof. */
    jwks: z.string().max(8_192).nullable(),
    scopes,
  }),
})

export const MachineTokenIssued = defineEvent({
  type: 'MachineTokenIssued',
  stream,
  summary: 'A machine was given an access token. The proof that it gave by a key is used up.',
  data: z.object({
    accountId,
    machineId: z.uuid(),
    /** Hash of the id of the signed proof; null where a secret was given. */
    proofHash: hash.nullable(),
    /** Until when the proof would be good, or the token, whichever is later. */
    expiresAt: timeMs,
  }),
})

export const MachineClientRemoved = defineEvent({
  type: 'MachineClientRemoved',
  stream,
  summary: 'A client for a machine was removed; its access tokens do not apply any more.',
  data: z.object({ accountId, machineId: z.uuid(), reason }),
})
