import{c as a,d as b,e as c}from"./chunk-RQBT4TJS.js";import"./chunk-XYRVTYEA.js";import"./chunk-6TDC7J6H.js";import"./chunk-EU6VZYK6.js";export{b as Entries,a as HistoryPage,c as idOf};
