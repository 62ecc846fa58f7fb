/** The registry's entry of one error code. */
export interface ErrorDefinition {
  /** HTTP status of an answer with this code. */
  readonly status: number
  /** Exit code of a command that ends with it; absent where it cannot end one. */
  readonly exitCode?: number
  /** The general message; a thrown error may have a particular one. */
  readonly message: string
  /** The caller's next step. */
  readonly nextStep: string
  /** A thrown error says what failed inside, which callers are not told unless it was written for them. */
  readonly isInner?: true
}

/** Failures of the log, of settings, of other servers and of commands: for the operator. */
export const OPERATOR_ERRORS = {
  event_invalid: {
    status: 500,
    isInner: true,
    message: 'An event or a stream name was refused before it was appended.',
    nextStep: 'This is a fault of the service; report it with the message.',
  },
  event_unreadable: {
    status: 500,
    isInner: true,
    exitCode: 1,
    message: 'An event in the log cannot be read by this release.',
    nextStep: 'Run the release that wrote it, or a newer one.',
  },
  revision_conflict: {
    status: 409,
    isInner: true,
    message: 'The stream is not at the expected revision.',
    nextStep: 'Read the stream again and decide anew.',
  },
  idempotency_conflict: {
    status: 409,
    isInner: true,
    message: 'The same event id was used for other content.',
    nextStep: 'Use a new id for a new fact.',
  },
  stream_erased: {
    status: 409,
    isInner: true,
    message: 'The stream was erased and takes no further events.',
    nextStep: 'Nothing can be added to what was forgotten; begin anew under another name.',
  },
  append_unknown: {
    status: 503,
    isInner: true,
    exitCode: 5,
    message: 'The log did not confirm an append; it may or may not have happened.',
    nextStep: 'Repeat it with the same ids and the same expected revision.',
  },
  lease_lost: {
    status: 503,
    message: 'Another process has taken over this work.',
    nextStep: 'Stop it here; the process that has it now goes on from what is in the log.',
  },
  store_denied: {
    status: 503,
    exitCode: 15,
    message: 'The event store does not let this service in.',
    nextStep:
      'Correct user, password, tlsCaFile and host in EVENTSTORE_URL; docs/running.md lists the rights.',
  },
  store_full: {
    status: 503,
    isInner: true,
    exitCode: 6,
    message: 'The disk of the event store is full. Nothing acknowledged was lost; nothing new is accepted.',
    nextStep: 'Free space on the disk of DATA_DIR; writing resumes by itself.',
  },
  store_locked: {
    status: 503,
    isInner: true,
    exitCode: 7,
    message: 'Another process has this store open.',
    nextStep: 'Stop that process, or choose another DATA_DIR.',
  },
  store_mismatch: {
    status: 503,
    isInner: true,
    exitCode: 8,
    message: 'The store belongs to another market or another key, or is not the one that was read before.',
    nextStep:
      'Use the market and key it was begun with, or choose another DATA_DIR. Where the log was restored, start again: the process then reads it anew.',
  },
  log_end_lost: {
    status: 503,
    isInner: true,
    exitCode: 22,
    message: 'The log ends before an event that was durable in it, or its write-ahead log is damaged.',
    nextStep:
      'Restore a backup into an empty folder, or go on without what is lost: `--accept-lost-end` with the position that the message names.',
  },
  log_damaged: {
    status: 503,
    isInner: true,
    exitCode: 24,
    message: 'Bytes of the log are not what was written.',
    nextStep:
      'Run `signal doctor --log`, which names the events. Stop the service, restore a backup into an empty folder (docs/backup.md), start there, and replace the disk.',
  },
  backup_damaged: {
    status: 503,
    exitCode: 19,
    message: 'A part of the backup is missing, or is not what was written.',
    nextStep: 'Restore another backup, or up to the position in the message; back up to a new address.',
  },
  backup_unreachable: {
    status: 503,
    exitCode: 20,
    message: 'The place of the backup cannot be read or written.',
    nextStep: 'Check the address and the credentials (docs/backup.md), then run the same command again.',
  },
  dependency_unavailable: {
    status: 503,
    isInner: true,
    exitCode: 9,
    message: 'The message bus or the cache does not answer.',
    nextStep: 'Check NATS_URL or REDIS_URL, whichever the message names, and the server behind it.',
  },
  config_invalid: {
    status: 500,
    exitCode: 2,
    message: 'A setting cannot be used.',
    nextStep: 'Correct the setting named in the message; docs/settings.md lists them all.',
  },
  port_in_use: {
    status: 500,
    exitCode: 10,
    message: 'The address is already in use.',
    nextStep: 'Stop what listens there, or set PORT (or --port) to another.',
  },
  runtime_too_old: {
    status: 500,
    exitCode: 11,
    message: 'This version of Node.js, or the SQLite in it, cannot run the service.',
    nextStep: 'Run it with `npm start`, which brings its own Node.js 26, or install Node.js 26 or newer.',
  },
  market_data_missing: {
    status: 503,
    exitCode: 3,
    message: 'There is no market data where it was looked for.',
    nextStep: 'Point MARKET_DATA (or --data) at a folder with candle files (docs/market-data.md).',
  },
  market_data_damaged: {
    status: 503,
    exitCode: 4,
    message: 'A market data file cannot be read.',
    nextStep: 'Repair or remove the row or column named in the message.',
  },
  server_unreachable: {
    status: 503,
    exitCode: 14,
    message: 'The server that a command asked does not answer.',
    nextStep: 'Check the address that was given, and that the service runs there.',
  },
  proof_invalid: {
    status: 400,
    exitCode: 17,
    message: 'The proof does not hold.',
    nextStep: 'Do not rely on it. Fetch it anew, and compare the vkey with the published one.',
  },
  audit_failed: {
    status: 409,
    exitCode: 18,
    message: 'The log does not hold what it promises.',
    nextStep: 'Keep the findings and the state file: they are the evidence.',
  },
} as const satisfies Record<string, ErrorDefinition>
