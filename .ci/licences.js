// Lists the licence of every dependency that ships, and fails where one is not allowed, or where the package that is installed
// names another one than the lock does. Reads the lock and node_modules, and asks nobody:
//   npm run licences
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Licences that may ship, each with what it asks of us. Who adds one says why it may stand beside code that is sold. */
const ALLOWED = {
  'Apache-2.0': 'keeps its notices; grants patents; no claim on our code',
  'BlueOak-1.0.0': 'keeps its text or a link to it; grants patents',
  'BSD-2-Clause': 'keeps its notice',
  'BSD-3-Clause': 'keeps its notice, and its authors out of advertising',
  ISC: 'keeps its notice',
  MIT: 'keeps its notice',
  'MIT-0': 'asks for nothing',
  Unlicense: 'public domain',
}

const root = process.argv[2] ?? join(import.meta.dirname ?? '.ci', '..')
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const shipped = Object.entries(packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link)
const places = shipped.map(([path, { license, version, optional }]) => {
  const installed = licenceIn(join(root, path, 'package.json'))
  return { name: `${path.slice(path.lastIndexOf('node_modules/') + 13)} ${version}`, locked: license, installed, isOptional: optional === true }
})

const byLicence = Map.groupBy(places, ({ installed, locked }) => installed ?? locked ?? 'none')
for (const [licence, those] of [...byLicence].toSorted(([, a], [, b]) => b.length - a.length)) {
  process.stdout.write(`${licence}: ${those.map(({ name }) => name).join(', ')}\n`)
}
const faults = places.map(faultOf).filter((fault) => fault !== undefined)
for (const fault of faults) process.stderr.write(`${fault}\n`)
process.stdout.write(`${places.length} dependencies that ship, ${faults.length} with a licence that may not\n`)
process.exitCode = faults.length === 0 ? 0 : 1

function faultOf({ name, locked, installed, isOptional }) {
  // What is for another platform is not installed here; for it the lock speaks.
  if (installed === undefined && !isOptional) return `${name} is not installed: npm ci`
  const licence = installed ?? locked
  if (licence === undefined) return `${name} names no licence`
  if (locked !== undefined && locked !== licence) return `${name} is ${licence}, and ${locked} in the lock`
  return isAllowed(licence) ? undefined : `${name} is ${licence}, which is not among ${Object.keys(ALLOWED).join(', ')}`
}

/** Licence that a package names of itself; undefined where it is not installed. */
function licenceIn(file) {
  try {
    const { license, licenses } = JSON.parse(readFileSync(file, 'utf8'))
    return license?.type ?? license ?? licenses?.map(({ type }) => type).join(' OR ') ?? 'none'
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Whether an SPDX expression can be met by allowed licences alone: one side of an OR is enough, an AND takes both. */
function isAllowed(expression) {
  const tokens = expression.match(/\(|\)|[^\s()]+/g) ?? []
  const either = () => {
    let met = both()
    while (tokens[0] === 'OR') {
      tokens.shift()
      met = both() || met
    }
    return met
  }
  const both = () => {
    let met = one()
    while (tokens[0] === 'AND') {
      tokens.shift()
      met = one() && met
    }
    return met
  }
  const one = () => {
    const token = tokens.shift()
    if (token !== '(') return token !== undefined && Object.hasOwn(ALLOWED, token)
    const met = either()
    return tokens.shift() === ')' && met
  }
  return either() && tokens.length === 0
}
