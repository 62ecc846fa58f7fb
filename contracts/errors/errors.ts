import type { JsonObject } from '../infra/json.ts'
import { CALLER_ERRORS } from './caller-errors.ts'
import { type ErrorDefinition, OPERATOR_ERRORS } from './operator-errors.ts'

export type { ErrorDefinition } from './operator-errors.ts'

/** Every refusal of the service. `docs/errors.md` is generated from it. */
export const ERRORS = { ...CALLER_ERRORS, ...OPERATOR_ERRORS }

export type ErrorCode = keyof typeof ERRORS

/** An error the service means to report: a code of the registry and what happened in particular. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly details: JsonObject | undefined
  /** The caller's next step: the registry's, unless this error has its own. */
  readonly nextStep: string
  /** Whether callers may read its message, where its code is of what is inside. */
  readonly isForCallers: boolean

  constructor(
    code: ErrorCode,
    options: {
      message?: string
      details?: JsonObject
      cause?: unknown
      nextStep?: string
      isForCallers?: boolean
    } = {},
  ) {
    super(
      options.message ?? ERRORS[code].message,
      options.cause === undefined ? {} : { cause: options.cause },
    )
    this.code = code
    this.details = options.details
    this.nextStep = options.nextStep ?? ERRORS[code].nextStep
    this.isForCallers = options.isForCallers ?? !isInner(code)
  }
}

const isInner = (code: ErrorCode): boolean => (ERRORS[code] as ErrorDefinition).isInner === true

/**
 * An error as callers see it: an inner failure may name streams, accounts of others and servers, and is for
 * the log.
 */
export const forCallers = (
  error: ServiceError,
): Pick<ServiceError, 'code' | 'message' | 'nextStep' | 'details'> => {
  const { code } = error
  if (error.isForCallers) return error
  return { code, message: ERRORS[code].message, nextStep: ERRORS[code].nextStep, details: undefined }
}

/** The message of a caught value; anything can be thrown. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const isServiceError = (error: unknown, code?: ErrorCode): error is ServiceError =>
  error instanceof ServiceError && (code === undefined || error.code === code)
