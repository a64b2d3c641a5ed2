// http: the XML Schema of the answers: their root elements, from the schemas of the calls, and how values of any kind are
// written.
//
// - The tests validate every kind of answer against it with xmllint, and the problems against RFC 9457's schema.
import { rootOf } from '../../api/call.ts'
import { CALL_LIST } from '../../api/calls.ts'
import { pausedAnswer } from '../../api/server.ts'

const START = `<?xml version="1.0" encoding="UTF-8"?>
<!-- The XML of the answers under /flux-api, and of a webhook that is answered before its workflow ends. It is the JSON,
     field by field: a list holds <item>s, and \`type\` tells what the text alone can't. What a workflow itself answers
     may be any data. -->
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
`

const TYPES = `
  <!-- How values are written -->

  <xs:complexType name="data" mixed="true">
    <xs:annotation>
      <xs:documentation>
        Any data: a text, a number and so on, fields, or items. A field whose name can't be that of an element is an
        entry element with the name in its attribute.
      </xs:documentation>
    </xs:annotation>
    <xs:sequence>
      <xs:any minOccurs="0" maxOccurs="unbounded" processContents="skip"/>
    </xs:sequence>
    <xs:attribute name="type" type="jsonType"/>
    <xs:attribute name="name" type="xs:string"/>
    <xs:attribute name="escaped" type="escaped"/>
  </xs:complexType>

  <xs:simpleType name="jsonType">
    <xs:restriction base="xs:string">
      <xs:enumeration value="number"/>
      <xs:enumeration value="boolean"/>
      <xs:enumeration value="null"/>
      <xs:enumeration value="array"/>
      <xs:enumeration value="object"/>
    </xs:restriction>
  </xs:simpleType>

  <xs:simpleType name="escaped">
    <xs:annotation>
      <xs:documentation>
        What of the element is escaped, since XML can't hold it: \\uXXXX is a UTF-16 code unit, \\\\ a backslash.
        Without this attribute a backslash is a backslash.
      </xs:documentation>
    </xs:annotation>
    <xs:restriction base="xs:string">
      <xs:enumeration value="name"/>
      <xs:enumeration value="text"/>
      <xs:enumeration value="name text"/>
    </xs:restriction>
  </xs:simpleType>

</xs:schema>
`

export function xmlSchema(): string {
  const answers = CALL_LIST.flatMap(({ call: { answer, accepted, one } }) => [
    answer,
    accepted?.answer ?? [],
    one ?? [],
  ])
  const roots = new Set([...answers.flat(), pausedAnswer].map(rootOf))
  return `${START}${[...roots].map((root) => `  <xs:element name="${root}" type="data"/>\n`).join('')}${TYPES}`
}
