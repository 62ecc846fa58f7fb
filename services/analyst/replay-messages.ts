import type { AppendRefusal } from '../log/decide-append.ts'
import type { ReplayRequest } from './replay-source.ts'

/** Messages to the replay thread. */
export type ReplayAsk =
  | { readonly kind: 'open'; readonly id: number; readonly request: Omit<ReplayRequest, 'signal'> }
  /** One more chunk may be made. */
  | { readonly kind: 'more'; readonly id: number }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'close' }

/** Messages from the replay thread. */
export type ReplayMessage =
  | {
      readonly kind: 'chunk'
      readonly id: number
      readonly bytes: Uint8Array<ArrayBuffer>
      readonly goOnAfter: string | undefined
    }
  | { readonly kind: 'done'; readonly id: number; readonly goOnAfter: string | undefined }
  /** A refusal in a form that crosses threads, or any other error. */
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly refusal?: AppendRefusal
      readonly error?: unknown
    }

/** Chunks that may wait for their reader: one is made while another is written. */
export const CHUNKS_AHEAD = 2
