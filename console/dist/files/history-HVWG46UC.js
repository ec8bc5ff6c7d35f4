import{d as a,e as b,f as c}from"./chunk-MEQ7E6TO.js";import"./chunk-FQDFXL5U.js";import"./chunk-GQRBQCTQ.js";import"./chunk-OHQYVRFF.js";export{b as Entries,a as HistoryPage,c as idOf};
