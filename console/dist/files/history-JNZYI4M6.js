import{d as a,e as b,f as c}from"./chunk-JEA5MICL.js";import"./chunk-GZFKQSAE.js";import"./chunk-HLSJQFGS.js";export{b as Entries,a as HistoryPage,c as idOf};
