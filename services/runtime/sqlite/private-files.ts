import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'

/** Everything but the owner's own rights. */
const OTHERS = 0o077
const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600

/** Suffixes of the files that SQLite keeps beside a database, with the rights of the database. */
const SUFFIXES = ['', '-wal', '-shm', '-journal'] as const

/**
 * Makes a database file that only its owner reads, if there is none, and takes the rights of others from one that is
 * there. What belongs to somebody else stays as it is; {@link exposedIn} finds it.
 */
export function makePrivate(file: string): void {
  if (file === ':memory:') return
  closeSync(openSync(file, 'a', PRIVATE_FILE))
  for (const suffix of SUFFIXES) tighten(`${file}${suffix}`, PRIVATE_FILE)
}

/**
 * Makes a folder that only its owner enters, and the missing ones above it; takes the rights of others from it.
 *
 * @throws ServiceError `config_invalid` where this process cannot write the folder, or a file in it
 */
export function makePrivateFolder(folder: string): void {
  let present = folder
  while (!existsSync(present) && dirname(present) !== present) present = dirname(present)
  // What is there, with its files: a service that ran as another user once has left some.
  const files = present === folder ? readdirSync(folder).map((name) => join(folder, name)) : []
  for (const path of [present, ...files]) requireWritable(path, present)
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER })
  tighten(folder, PRIVATE_FOLDER)
}

function requireWritable(path: string, folder: string): void {
  const { R_OK, W_OK } = constants
  try {
    accessSync(path, R_OK | W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Gone meanwhile, as files are that SQLite keeps beside a database.
    if (code === 'ENOENT') return
    const [owner, own] = [statSync(path).uid, process.getuid?.()]
    const [why, nextStep] =
      code === 'EROFS'
        ? ['its disk is read-only', 'Mount the disk for writing, or name another folder (DATA_DIR).']
        : owner === own
          ? ['its rights forbid it', `Run \`chmod -R u+rwX ${folder}\`, and start again.`]
          : [
              `it belongs to user ${owner}, and this process runs as user ${own}`,
              `Run \`sudo chown -R ${own} ${folder}\`, and start again.`,
            ]
    throw new ServiceError('config_invalid', {
      message: `${path} cannot be written: ${why}`,
      nextStep,
      cause: error,
    })
  }
}

/** Paths in a folder that others can still read, the folder itself included: it belongs to another user, say. */
export function exposedIn(folder: string): readonly string[] {
  const paths = [folder, ...readdirSync(folder).map((name) => join(folder, name))]
  return paths.filter((path) => ((modeOf(path) ?? 0) & OTHERS) !== 0)
}

function tighten(path: string, mode: number): void {
  const now = modeOf(path)
  if (now === undefined || (now & OTHERS) === 0) return
  try {
    chmodSync(path, mode)
  } catch (error) {
    // It belongs to another user, or its disk has no rights; the start reports both.
    if (!(error instanceof Error && 'code' in error && FOREIGN.has(String(error.code)))) throw error
  }
}

const FOREIGN: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EROFS'])

const modeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mode
