import { expect, test } from 'vitest'
import { formatOf, negotiate } from '../../src/http/negotiate.ts'

const JSON_TYPE = { type: 'application/json', suffix: '+json' }
const XML = { type: 'application/xml', suffix: '+xml' }
const TEXT_XML = { type: 'text/xml', suffix: '+xml' }
const ALL = [JSON_TYPE, XML, TEXT_XML]

test.each([
  [undefined, 'application/json'],
  ['', 'application/json'],
  [' , ', 'application/json'],
  ['*/*', 'application/json'],
  ['*', 'application/json'],
  ['application/*', 'application/json'],
  ['text/*', 'text/xml'],
  ['application/json', 'application/json'],
  ['APPLICATION/Json ; charset=utf-8', 'application/json'],
  ['application/xml', 'application/xml'],
  ['text/xml', 'text/xml'],
  ['application/xml, application/json', 'application/json'],
  ['application/xml;q=0.9, application/json;q=0.8', 'application/xml'],
  ['application/json;q=0.1, */*;q=0.2', 'application/xml'],
  ['application/xml;q=0, */*;q=0.5', 'application/json'],
  ['application/json;q=0, */*', 'application/xml'],
  ['application/json;q=0, application/*;q=0.5', 'application/xml'],
  ['application/vnd.shop+json', 'application/json'],
  ['application/problem+json;q=0.5, application/atom+xml', 'application/xml'],
  ['application/ld+json;q=0, */*', 'application/json'],
  ['text/html, application/json;q=0.5', 'application/json'],
  ['application/json;q=abc', 'application/json'],
  ['application/json;q=7, application/xml', 'application/json'],
  ['application/json ; Q = 0.3 , application/xml;q=0.4', 'application/xml'],
  ['application/json;profile="a,b"', 'application/json'],
  ['text/html', null],
  ['image/*', null],
  ['garbage', null],
  ['application/json;q=0', null],
  ['*/*;q=0', null],
  ['application/json;q=-1', null],
])('Accept: %s gives %s', (accept, type) => expect(negotiate(accept, ALL)?.type ?? null).toBe(type))

test.each([
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['application/json;charset=utf-8', 'application/json'],
  ['application/merge-patch+JSON', 'application/json'],
  ['text/xml', 'text/xml'],
  ['application/soap+xml; charset=utf-8', 'application/xml'],
  ['text/plain', null],
  ['application/x-www-form-urlencoded', null],
  ['json', null],
])('Content-Type: %s is %s', (contentType, type) => expect(formatOf(contentType, ALL)?.type ?? null).toBe(type))
