import { OAuthError } from '../../contracts/domain/oauth.ts'
import { isServiceError } from '../../contracts/errors/errors.ts'

/** Something that reads what others wrote. */
export interface Target {
  /** Name of its corpus. */
  readonly name: string
  /** Takes the input or refuses it. */
  read(input: Buffer): unknown
  /** The input may hold a secret, which no refusal repeats. */
  readonly isSecret?: boolean
  /** Errors by which it refuses, besides those of the registry, by their names. */
  readonly refusesBy?: readonly string[]
}

/** Words of V8 for mistakes of a program; no refusal has them. */
const UNFORESEEN =
  /Cannot (?:read|set|convert|access|destructure|mix)|is not (?:a function|iterable|defined|a constructor)|Maximum call stack|Invalid (?:string|array) length|out of memory|call stack|Reduce of empty/

/** The fault of a refusal; undefined where it is a deliberate one. */
export function refusalFault(error: unknown, { refusesBy = [] }: Target): string | undefined {
  if (isServiceError(error))
    return error.code === 'internal_error' ? `is answered with ${error.code}: ${error.message}` : undefined
  if (error instanceof OAuthError)
    return error.code === 'server_error' ? 'is answered with server_error' : undefined
  if (!(error instanceof Error)) return `throws ${String(error)}`
  if (!refusesBy.includes(error.name)) return `throws ${error.name}: ${error.message}`
  return UNFORESEEN.test(error.message) ? `is not thought of: ${error.message}` : undefined
}
