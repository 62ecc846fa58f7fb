import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import type { Checkpoint } from '../notes/checkpoint.ts'
import { HASH_BYTES, rootOf, subtreesOf } from '../tree/merkle.ts'
import type { Findings } from './finding.ts'
import type { ReadLog } from './read-log.ts'

/** The state that an auditor keeps of a log between two audits. */
export interface AuditState {
  readonly origin: string
  readonly size: number
  /** When it was seen, by the clock of the auditor; Unix milliseconds. */
  readonly seenAt: number
  /** Hashes of all leaves, one after the other. */
  readonly leaves: Buffer
}

const stateSchema = z.strictObject({
  origin: z.string(),
  size: z.int().nonnegative(),
  seenAt: z.int().nonnegative(),
  leaves: z.base64(),
})

/** @throws ServiceError `config_invalid` for a file that is none: an auditor without a memory is easily fooled */
export function readAuditState(file: string): AuditState | undefined {
  if (!existsSync(file)) return undefined
  try {
    const state = stateSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    const leaves = Buffer.from(state.leaves, 'base64')
    if (leaves.length !== state.size * HASH_BYTES)
      throw new TypeError('it does not hold as many leaves as it says')
    return { ...state, leaves }
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `the state of former audits ${file} cannot be read: ${reasonOf(error)}. Restore it, or name another file with --state`,
      cause: error,
    })
  }
}

export function writeAuditState(file: string, { checkpoint, leaves }: ReadLog, seenAt: number): void {
  const { origin, size } = checkpoint
  const head = JSON.stringify({ origin, size, seenAt, leaves: '' }).slice(0, -2)
  // Written in its place, part by part: as one text after the other it would take the memory four times.
  const text = Buffer.alloc(head.length + 4 * Math.ceil(leaves.length / 3) + 2)
  let written = text.write(head)
  for (let from = 0; from < leaves.length; from += PART_BYTES)
    written += text.write(leaves.toString('base64', from, from + PART_BYTES), written, 'latin1')
  text.write('"}', written)
  writeWholeFile(file, text)
}

/** Divisible by three, so that parts in base64 can be concatenated. */
const PART_BYTES = 3 * 8_192

/** Single entries that differ, among those that do not, were edited; more of them are another history. */
const MOST_EDITED = 100

/** Compares a log with what it was when it was audited before. */
export function checkHistory(log: ReadLog, seen: AuditState | undefined, findings: Findings): void {
  if (seen === undefined) return
  const { checkpoint, leaves } = log
  if (seen.origin !== checkpoint.origin) {
    findings.add('second_log', null, `it was ${seen.origin}, and is ${checkpoint.origin} now`)
    return
  }
  if (checkpoint.size < seen.size)
    return findings.add('second_history', null, `it had ${seen.size} entries, and has ${checkpoint.size} now`)
  const changed: number[] = []
  for (let index = 0; index < seen.size; index++) {
    const [start, end] = [index * HASH_BYTES, (index + 1) * HASH_BYTES]
    if (leaves.compare(seen.leaves, start, end, start, end) !== 0) changed.push(index)
  }
  const [first] = changed
  if (first === undefined) return
  // An entry that was taken out or put in moves all entries after it.
  const hasMoved = changed.length > Math.min(MOST_EDITED, Math.max(1, (seen.size - first) / 2))
  if (hasMoved)
    return findings.add(
      'second_history',
      first,
      `from entry ${first} on it is not what it was at ${seen.size} entries`,
    )
  for (const index of changed) findings.add('edited_verdict', index, `entry ${index} is not what it was`)
}

/** Checks that a log has only grown since a checkpoint that it signed. */
export function checkGrowth({ checkpoint, leaves }: ReadLog, earlier: Checkpoint, findings: Findings): void {
  const { origin, size, root } = earlier
  if (origin !== checkpoint.origin)
    findings.add('second_log', null, `the checkpoint is of ${origin}, and the log of ${checkpoint.origin}`)
  else if (size > checkpoint.size)
    findings.add('second_history', null, `the checkpoint has ${size} entries, and the log ${checkpoint.size}`)
  else if (!rootOf(subtreesOf(leaves), size).equals(root))
    findings.add('second_history', null, `its first ${size} entries are not those of the checkpoint`)
}
