import { LIMITS } from '../../../contracts/limits.ts'

/** What terminals and logs would act on; tabs and line breaks may stay. */
const CONTROLS = /[^\P{Cc}\t\n\r]/gu

/**
 * The first bytes of an answer as text that can be stored and shown, at most `LIMITS.webhookResponseKeptBytes` as
 * UTF-8. What is no text shows as U+FFFD.
 */
export function answerText(chunks: readonly Uint8Array[]): string {
  if (chunks.length === 0) return ''
  // As a stream, so that a character cut at the end is left out instead of shown as damage.
  return keptText(new TextDecoder('utf-8').decode(Buffer.concat(chunks), { stream: true }))
}

/** A text cut to what is kept of an answer. */
export function keptText(text: string): string {
  const shown = text.toWellFormed().replaceAll(CONTROLS, '\uFFFD')
  // No character of UTF-16 takes more than three bytes as UTF-8.
  if (shown.length * 3 <= LIMITS.webhookResponseKeptBytes) return shown
  const kept = new Uint8Array(LIMITS.webhookResponseKeptBytes)
  // It writes whole characters only.
  const { written } = new TextEncoder().encodeInto(shown, kept)
  return new TextDecoder().decode(kept.subarray(0, written))
}
