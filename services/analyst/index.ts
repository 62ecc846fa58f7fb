export { AT_START, formatCursor, parseCursor, type ReplayCursor } from './replay-cursor.ts'
export { type ReplayFilter, type ReplayOptions, replayVerdicts } from './replay-verdicts.ts'
