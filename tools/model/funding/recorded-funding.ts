import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Real funding rates of several exchanges, which stand beside the repository where there are any. */
export const RECORDED_FUNDING = fileURLToPath(new URL('../../../../shared/data', import.meta.url))

export const isFundingAbsent = !existsSync(RECORDED_FUNDING)

/** For titles of tests that need the data. */
export const whenPresent = isFundingAbsent ? ' (skipped: ../shared/data is absent)' : ''
