import { z } from 'zod'
import { instant } from './field-schemas.ts'

/** Rights that a program may get; `scope` in OAuth. */
export const SCOPES = ['calls', 'webhooks'] as const
export const scopeSchema = z.enum(SCOPES)
export type Scope = z.infer<typeof scopeSchema>

/** The meaning of each scope, for the page that asks for consent. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  calls: 'ask for trade calls, regimes and scans, and listen to them; calls count for your account',
  webhooks: 'create, change and remove your webhooks, and read their deliveries',
}

/** How a client proves who it is (RFC 7591 §2): the first has nothing to prove it with but its redirect address. */
export const CLIENT_METHODS = ['none', 'private_key_jwt'] as const
export type ClientMethod = (typeof CLIENT_METHODS)[number]

/** Why a request of OAuth is refused: the codes of RFC 6749, 8707 and 7009. */
export const OAUTH_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'unsupported_token_type',
  'access_denied',
  'temporarily_unavailable',
  'server_error',
] as const
export type OAuthCode = (typeof OAUTH_CODES)[number]

/** A refusal in OAuth's own words: programs read the code, people the description. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthCode
  constructor(code: OAuthCode, description: string, options?: ErrorOptions) {
    super(description, options)
    this.code = code
  }
}

/** A program that may act for an account, as lists show it. */
export const appRowSchema = z.object({
  id: z.uuid(),
  kind: z.enum(['app', 'machine']).describe('A program that you let in, or a client for a machine'),
  name: z.string(),
  client_id: z.string(),
  redirect_host: z.string().nullable().describe('Where its sign-ins lead; null for a machine'),
  scopes: z.array(scopeSchema),
  created_at: instant,
  expires_at: instant.nullable().describe('Until when it may be silent; null for a machine'),
})
export type AppRow = z.infer<typeof appRowSchema>

/** The answer of `GET /api/apps`. */
export const appsAnswerSchema = z.object({ apps: z.array(appRowSchema) })
export type AppsAnswer = z.infer<typeof appsAnswerSchema>

/** The answer of `POST /api/apps`, the only one that holds the secret. */
export const machineAnswerSchema = appRowSchema.extend({
  client_secret: z.string().nullable().describe('Shown this once; null where keys were given'),
})
export type MachineAnswer = z.infer<typeof machineAnswerSchema>
