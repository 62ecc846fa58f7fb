/** The code of the error that work rejects with, or its text where it has none; `none` where it resolves. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  )
