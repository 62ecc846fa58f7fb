import { getAddress, keccak256 as ofViem } from 'viem'
import { expect, it } from 'vitest'
import { checksummed, keccak256 } from './keccak.ts'

it('has the value that is published for nothing at all', () => {
  const digest = Buffer.from(keccak256(new Uint8Array(0))).toString('hex')
  expect(digest).toBe('c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470')
})

it('agrees with viem at every length around its blocks', () => {
  for (let length = 0; length <= 420; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 197 + length * 31) % 256)
    expect(keccak256(bytes)).toEqual(ofViem(bytes, 'bytes'))
  }
})

it('answers bytes that later hashes leave alone', () => {
  const first = keccak256(Uint8Array.of(1))
  const copy = Uint8Array.from(first)
  keccak256(Uint8Array.of(2))
  expect(first).toEqual(copy)
})

it('writes addresses as viem does', () => {
  for (let number = 0n; number < 200n; number++) {
    const address = ofViem(Uint8Array.of(Number(number))).slice(0, 42)
    expect(checksummed(address)).toBe(getAddress(address))
    expect(checksummed(getAddress(address))).toBe(getAddress(address))
  }
})
