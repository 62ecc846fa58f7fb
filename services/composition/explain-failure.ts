import { ERRORS, type ErrorDefinition, ServiceError } from '../../contracts/errors/errors.ts'

/** Says what went wrong and what to do, and answers the exit code for it. */
export function explainFailure(error: unknown, stderr: NodeJS.WritableStream): number {
  const known = error instanceof ServiceError ? error : new ServiceError('internal_error', { cause: error })
  const stack =
    error instanceof ServiceError ? '' : `${error instanceof Error ? error.stack : String(error)}\n`
  stderr.write(`${stack}error ${known.code}: ${known.message}\n${known.nextStep}\n`)
  const { exitCode }: ErrorDefinition = ERRORS[known.code]
  return exitCode ?? 1
}
